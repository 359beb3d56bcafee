import { collectionParams, type RouteInput, routesBelow } from '../route.ts';
import { PINECONE } from './dialect.ts';

export const route = routesBelow(PINECONE);

/** Base path of an index's data plane, as in the `host` of its model. */
export const INDEX = '/indexes/{name}';

/** Returns the action's parameters with the decoded query string. */
export const paramsWith = (input: RouteInput, decoded: object) => ({ ...collectionParams(input), decoded });

/** Pinecone bills read units. Provec bills requests, so the number is constant. */
export const READ_USAGE = { usage: { readUnits: 1 } };

/** Returns a page's `pagination`; empty for the last page. */
export const pagination = (next: string | undefined) => (next === undefined ? {} : { pagination: { next } });
