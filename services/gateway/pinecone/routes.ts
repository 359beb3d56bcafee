import { INDEX_ROUTES } from './indexes.ts';
import { NAMESPACE_ROUTES } from './namespaces.ts';
import { VECTOR_ROUTES } from './vectors.ts';

/** Every route below `/pinecone`, those that are called most first. */
export const PINECONE_ROUTES = [...VECTOR_ROUTES, ...INDEX_ROUTES, ...NAMESPACE_ROUTES];
