import { collectionParams, type InputOf, type RouteInput, routesBelow } from '../route.ts';
import type { PINECONE_BODIES } from './bodies.ts';
import { PINECONE } from './dialect.ts';

type Bodies = typeof PINECONE_BODIES;
export type Input<K extends keyof Bodies> = InputOf<K, Bodies>;

export const route = routesBelow<Bodies>(PINECONE);

/** Base path of an index's data plane, as in the `host` of its model. */
export const INDEX = '/indexes/{name}';

/** Returns the action's parameters with a body that the client sent in another form. */
export const paramsWith = <B>(input: RouteInput, body: B) => ({ ...collectionParams(input), body });

/** Parameters that count the records of a namespace. */
export const countParams = (input: RouteInput, namespace: string) =>
  paramsWith(input, { namespace, allNamespaces: false, consistency: 'strong' as const });

/** Pinecone bills read units. Provec bills requests, so the number is constant. */
export const READ_USAGE = { usage: { readUnits: 1 } };

/** Returns a page's `pagination`; empty for the last page. */
export const pagination = (next: string | undefined) => (next === undefined ? {} : { pagination: { next } });
