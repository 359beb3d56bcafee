import type { Limits } from '../limits.ts';
import { accountRequests } from './account-requests.ts';
import { collectionRequests } from './collection-requests.ts';
import { RequestKind } from './request.ts';
import { vectorRequests } from './vector-requests.ts';

const kinds = (limits: Limits) => ({
  ...vectorRequests(limits),
  ...collectionRequests(limits),
  ...accountRequests(limits),
  /** Of operations that take no body: an object without fields passes. */
  none: new RequestKind({}),
});

/** Every kind of request that has a body. */
type Requests = ReturnType<typeof kinds>;
export type RequestName = keyof Requests;
/** What is made of one. */
export type DecodedRequest<N extends RequestName> = ReturnType<Requests[N]['decode']>;

const made = new WeakMap<Limits, Requests>();

/** The kinds of request within these limits. */
export function requestsOf(limits: Limits): Requests {
  let requests = made.get(limits);
  if (requests === undefined) {
    requests = kinds(limits);
    made.set(limits, requests);
  }
  return requests;
}
