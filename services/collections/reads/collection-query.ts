import { type Caller, call } from '../../../contracts/actions/call.ts';
import { Cancelled } from '../../../contracts/actions/cancelled.ts';
import type { QueryResult } from '../../../contracts/actions/collections.ts';
import type { DecodedRequest } from '../../../contracts/requests/requests.ts';
import { firstOf, itemAt } from '../../../lib/checked-access.ts';
import { recordNotFound } from '../../../lib/errors.ts';
import { storedId, withPlainIds } from '../../../lib/records/namespace.ts';
import type { QueryOptions } from '../../../lib/shard/match.ts';
import { withoutShardIndexes } from '../../../lib/shard/shard-unavailable.ts';
import { shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import { shardIndexOf } from '../shard-routing.ts';
import { type CollectionRead, readOptionsOf, scopeOf } from './collection-reader.ts';
import { PARTIAL_WAIT_MS } from './shard-reader.ts';

type Query = DecodedRequest<'query'>;

interface PlacedQuery {
  query: Query;
  /** Path of the query's id in a request with several queries; null if the query is alone. */
  idPath: string | null;
}

/**
 * Returns the nearest records of all shards, best first, for each query. All queries go to a shard
 * in one call. Each counts as a query of the plan; if the request fails, `background`, which
 * outlives it, gives them back. `idPathOf` gives the path of each query's id. Throws
 * RECORD_NOT_FOUND, PLAN_LIMIT_REACHED and the shards' errors.
 */
export async function queryCollection(
  read: CollectionRead,
  background: Caller,
  queries: readonly Query[],
  idPathOf: (at: number) => string | null = () => null,
): Promise<QueryResult[]> {
  const results: QueryResult[] = [];
  const placed = queries.map((query, at) => ({ query, at, idPath: idPathOf(at) }));
  const alike = Map.groupBy(placed, ({ query }) => `${query.consistency} ${query.allowPartial}`);
  const answer = async (some: typeof placed): Promise<void> => {
    const found = await answersTo(read, some);
    for (const [i, { at }] of some.entries()) results[at] = itemAt(found, i);
  };
  try {
    await withQueryQuota(read, background, queries.length, () => Promise.all([...alike.values()].map(answer)));
  } catch (error) {
    throw queries.some(({ allowPartial }) => allowPartial) ? withoutShardIndexes(error) : error;
  }
  return results;
}

/**
 * Runs `answer`, counted as `count` queries of the plan. If it fails, `background` gives them back,
 * except when the client disconnected, since most of the work may be done. Throws
 * PLAN_LIMIT_REACHED and the errors of `answer`.
 */
export async function withQueryQuota<T>(
  { caller, row }: CollectionRead,
  background: Caller,
  count: number,
  answer: () => Promise<T>,
): Promise<T> {
  const taken = { accountId: row.accountId, count };
  const { month } = await call(caller, 'metering.takeQuery', taken);
  try {
    return await answer();
  } catch (error) {
    const isClientGone = error instanceof Cancelled && error.isClientGone;
    // The error of the query matters more; queries not given back count as used.
    if (!isClientGone) await call(background, 'metering.giveBackQuery', { ...taken, month }).catch(() => undefined);
    throw error;
  }
}

/** Answers queries that all have the same consistency and `allowPartial`. */
async function answersTo(read: CollectionRead, placed: readonly PlacedQuery[]): Promise<QueryResult[]> {
  const { caller, shards } = read;
  const { allowPartial, consistency } = firstOf(placed).query;
  const specs = shardSpecs(read.row);
  const options = await Promise.all(placed.map((each) => optionsOf(read, each)));
  const terms = readOptionsOf(read, consistency);
  const results: QueryResult[] = allowPartial
    ? await shards.queryReachable(caller, specs, options, terms)
    : await shards.query(caller, specs, options, terms);
  return results.map((result, at) => ({
    ...result,
    matches: withPlainIds(scopeOf(read, itemAt(placed, at).query).namespace, result.matches),
  }));
}

async function optionsOf(read: CollectionRead, placed: PlacedQuery): Promise<QueryOptions> {
  const { query } = placed;
  const { topK, includeValues, includeMetadata, scoreThreshold = null, exact } = query;
  const vector = query.vector ?? (await vectorOf(read, placed));
  return { ...scopeOf(read, query), vector, topK, includeValues, includeMetadata, scoreThreshold, exact };
}

/** Returns the vector of the record that a query by id names. */
async function vectorOf(
  { caller, row, openMaxMs }: CollectionRead,
  { query, idPath }: PlacedQuery,
): Promise<Float32Array> {
  const [options, opening] = query.allowPartial ? [{ timeout: PARTIAL_WAIT_MS }, {}] : [{}, { openMaxMs }];
  const id = storedId(query.namespace, query.id!);
  const shard = shardSpec(row, shardIndexOf(id, row.shards));
  const eventual = query.consistency === 'eventual';
  const params = { shard, ids: [id], pageMaxBytes: 1, eventual, ...opening };
  const { items } = await call(caller, 'shards.fetch', params, options);
  const [record] = items;
  if (!record) throw recordNotFound(idPath);
  return record.values;
}
