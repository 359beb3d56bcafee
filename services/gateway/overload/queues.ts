import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { QueueBounds } from './fair-queue.ts';

/** An account may hold twice the permits that it leaves free. */
const SHARE_FACTOR = 2;

/**
 * Queues that requests wait in before their action is called. Each has permits of its own, so that
 * one kind of work never waits behind another:
 * - `query`: searches, one permit per shard;
 * - `write`: upserts, which may wait for the ledger;
 * - `verify`: verifications, which take long;
 * - `perAccount`: deletes, which free space, and operators' requests; permits are per account;
 * - `other`: everything else;
 * - `parse`: large bodies, whose request already holds a permit;
 * - `embed`: texts of agents on their way to the embeddings endpoint.
 */
export type QueueName = 'query' | 'write' | 'verify' | 'perAccount' | 'other' | 'parse' | 'embed';

/**
 * Permits of `other` for one page of a list: up to 1,000 rows with seals to verify. At this width
 * an account runs at most two pages at once, and other accounts run in between.
 */
export const LIST_WIDTH = 24;

/**
 * Permits of `query` for a read whose request or result is large, whatever the collection's size:
 * an account runs at most two of these at once.
 */
const LARGE_WIDTH = 8;

/** Permits of `query` for a request for namespaces or facets, which has up to 1,000 results. */
export const namesWidth = (shards: number): number => Math.max(shards, LARGE_WIDTH);

/** Size of a body, and number of records in a result, that one permit of `query` covers. */
const BYTES_PER_PERMIT = 256 * 1024;
const RECORDS_PER_PERMIT = 125;

/** Permits of `query` for a body of this size, whatever it asks for. */
export const bodyWidth = (bytes: number): number => Math.min(LARGE_WIDTH, Math.ceil(bytes / BYTES_PER_PERMIT));

/** Permits of `query` for a read that returns up to `records` records. */
export const recordsWidth = (shards: number, records = 0): number =>
  Math.max(shards, Math.min(LARGE_WIDTH, Math.ceil(records / RECORDS_PER_PERMIT)));

/** Number of fetched records that one permit of `other` covers. */
const FETCHED_PER_PERMIT = 40;

/** Permits of `other` for a fetch of `count` records. */
export const fetchWidth = (count: number): number => Math.min(LIST_WIDTH, Math.ceil(count / FETCHED_PER_PERMIT));

/** Permits of `other` for a fetch of the ids in the body. */
export const bodyFetchWidth = (_shards: number, body: { ids: readonly string[] } | null): number =>
  fetchWidth(body?.ids.length ?? 1);

/** Number of shard heads that one permit of `other` covers. */
const HEADS_PER_PERMIT = 4;

/** Permits of `other` for a request that reads the heads of all shards of a collection. */
export const headsWidth = (shards: number): number => Math.ceil(shards / HEADS_PER_PERMIT);

/** Shards per permit of `perAccount`: of 256 shards an account has two deletes under way. */
const SHARDS_PER_PERMIT = 8;

/** Permits of `perAccount` for a delete that reads every shard to find its records. */
export const scanWidth = (shards: number): number => Math.ceil(shards / SHARDS_PER_PERMIT);

type Selection = { filter?: unknown; all?: unknown } | null;
const isScan = (body: Selection): boolean => body?.filter !== undefined || body?.all !== undefined;

/** Permits of `perAccount` for a delete. */
export const deleteWidth = (shards: number, body: Selection): number => (isScan(body) ? scanWidth(shards) : 1);

/** Permits of `write` for an update; one by filter reads every shard. */
export const updateWidth = (shards: number, body: Selection): number => (isScan(body) ? shards : 1);

/** `queryPermits`: concurrent shard searches; `parsePermits`: threads for large bodies. */
export function queueBounds(queryPermits: number, parsePermits: number): Record<QueueName, QueueBounds> {
  const shared = (permits: number, shareFactor = SHARE_FACTOR): QueueBounds => ({
    permits,
    shareFactor,
    permitsPerAccount: false,
    shrinks: false,
    waitingMax: INTERNAL_LIMITS.waitingMaxRequests,
    waitingPerAccountMax: INTERNAL_LIMITS.waitingPerAccountMaxRequests,
    waitMaxMs: INTERNAL_LIMITS.waitMaxMs,
  });
  return {
    query: { ...shared(queryPermits), shrinks: true },
    write: shared(INTERNAL_LIMITS.writePermits),
    verify: shared(INTERNAL_LIMITS.verifyPermits),
    perAccount: { ...shared(INTERNAL_LIMITS.perAccountPermits), permitsPerAccount: true },
    other: { ...shared(INTERNAL_LIMITS.otherPermits), shrinks: true },
    // Few permits, each held briefly, so an account may take all of them.
    parse: shared(parsePermits, Number.POSITIVE_INFINITY),
    embed: shared(INTERNAL_LIMITS.embeddingsPermits),
  };
}
