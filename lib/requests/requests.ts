import type { Limits } from '../limits.ts';
import { changePlanRequest, createAccountRequest, createKeyRequest } from './account-requests.ts';
import { changeCollectionRequest, createCollectionRequest } from './collection-requests.ts';
import { RequestKind } from './request.ts';
import { deleteRequest, fetchRequest, queryRequest, upsertRequest } from './vector-requests.ts';

const kinds = (limits: Limits) => ({
  upsert: upsertRequest(limits),
  query: queryRequest(limits),
  fetch: fetchRequest(limits),
  delete: deleteRequest(limits),
  createCollection: createCollectionRequest(limits),
  changeCollection: changeCollectionRequest(limits),
  createKey: createKeyRequest(limits),
  createAccount: createAccountRequest(limits),
  changePlan: changePlanRequest(),
  /** Of operations that take no body: an object without fields passes. */
  none: new RequestKind({}),
});

/** Every kind of request that has a body. */
export type Requests = ReturnType<typeof kinds>;
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
