import type { Limits } from '../../lib/limits.ts';
import { accountRequests } from './account-requests.ts';
import { collectionRequests } from './collection-requests.ts';
import { RequestKind } from './request.ts';
import { vectorRequests } from './vector-requests.ts';

const kinds = (limits: Limits) => ({
  ...vectorRequests(limits),
  ...collectionRequests(limits),
  ...accountRequests(limits),
  /** For operations without a body: accepts an object without fields. */
  none: new RequestKind({}),
});

/** Every kind of request that has a body. */
type Requests = ReturnType<typeof kinds>;
export type RequestName = keyof Requests;
/** The decoded value of a request. */
export type DecodedRequest<N extends RequestName> = ReturnType<Requests[N]['decode']>;

const requestsByLimits = new WeakMap<Limits, Requests>();

/** Returns the kinds of request for these limits, built once per limits object. */
export function requestsOf(limits: Limits): Requests {
  let requests = requestsByLimits.get(limits);
  if (requests === undefined) {
    requests = kinds(limits);
    requestsByLimits.set(limits, requests);
  }
  return requests;
}
