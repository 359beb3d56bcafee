import './bodies.ts';
import { INDEX_ROUTES } from './indexes.ts';
import { NAMESPACE_ROUTES } from './namespaces.ts';
import { VECTOR_ROUTES } from './vectors.ts';

/** All routes below `/pinecone`, most frequent first. */
export const PINECONE_ROUTES = [...VECTOR_ROUTES, ...INDEX_ROUTES, ...NAMESPACE_ROUTES];
