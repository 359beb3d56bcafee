import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { QueueBounds } from './fair-queue.ts';

/** An account may hold twice the permits that it leaves to others. */
const SHARE_FACTOR = 2;

/**
 * The queues that requests wait in before their action is called, each with permits of its own, so
 * that work of one kind never waits behind another: queries, which take a permit for each shard
 * that they search; upserts, which may wait for the ledger; verifies, which take long; deletes,
 * which make room, and what operators do, which wait behind no other account; and everything else.
 * `parse` is for large bodies, within the permit of their request.
 */
export type QueueName = 'query' | 'write' | 'verify' | 'unshared' | 'other' | 'parse';

/**
 * Permits of `other` that one page of a list takes, of up to a thousand rows whose seals are
 * verified: an account has two under way, and leaves the event loop to others in between.
 */
export const LIST_WIDTH = 24;

/** Permits of `query` that an answer with up to a thousand names or values takes at least. */
const NAMES_WIDTH = 8;

/** Permits of `query` that a request for namespaces or facets takes. */
export const namesWidth = (shards: number): number => Math.max(shards, NAMES_WIDTH);

/** Shards whose heads a permit of `other` pays for. */
const HEADS_PER_PERMIT = 4;

/** Permits of `other` that a request takes which needs the heads of all shards of a collection. */
export const headsWidth = (shards: number): number => Math.ceil(shards / HEADS_PER_PERMIT);

/**
 * `queryPermits`: searches of shards under way at once; `parsePermits`: threads for large bodies.
 */
export function queueBounds(queryPermits: number, parsePermits: number): Record<QueueName, QueueBounds> {
  const shared = (permits: number, shareFactor = SHARE_FACTOR): QueueBounds => ({
    permits,
    shareFactor,
    permitsPerAccount: false,
    waitingMax: INTERNAL_LIMITS.waitingMaxRequests,
    waitingPerAccountMax: INTERNAL_LIMITS.waitingPerAccountMaxRequests,
    waitMaxMs: INTERNAL_LIMITS.waitMaxMs,
  });
  return {
    query: shared(queryPermits),
    write: shared(INTERNAL_LIMITS.writePermits),
    verify: shared(INTERNAL_LIMITS.verifyPermits),
    unshared: { ...shared(INTERNAL_LIMITS.unsharedPermitsPerAccount), permitsPerAccount: true },
    other: shared(INTERNAL_LIMITS.otherPermits),
    // They are few and soon free again: what one leaves to others would stand idle.
    parse: shared(parsePermits, Number.POSITIVE_INFINITY),
  };
}
