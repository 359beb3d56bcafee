import { named, type RouteInput, routesBelow } from '../route.ts';
import { PINECONE } from './surface.ts';

export const route = routesBelow(PINECONE);

/** The data plane of an index: what its model's `host` leads to. */
export const INDEX = '/indexes/{name}';

/** With what was decoded of the query string. */
export const askedWith = (input: RouteInput, decoded: object) => ({ ...named(input), decoded });

/** Units are what Pinecone bills; Provec bills requests. */
export const USAGE = { usage: { readUnits: 1 } };

/** A page's `pagination`, left out behind the last one. */
export const pagination = (next: string | undefined) => (next === undefined ? {} : { pagination: { next } });
