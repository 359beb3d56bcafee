import { type Caller, call } from '../../lib/actions/call.ts';
import type { CollectionQuery, QueryResult } from '../../lib/actions/collections.ts';
import { notFound } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { withoutShards } from '../../lib/shard/away.ts';
import type { FetchedRecord } from '../../lib/shard/match.ts';
import { shardSpec, shardSpecs } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import { type CheckedQuery, readQuery } from './query-request.ts';
import { PARTIAL_WAIT_MS, type ReadTerms, type ShardReader } from './shard-reader.ts';
import { shardIndexOf, splitIds } from './shard-routing.ts';

/**
 * The nearest records of all shards, best first. Counts as one query of the plan; one that fails is
 * given back through `background`, which outlives the request. `awayMaxMs`: as for ShardReader.
 * Throws as `readQuery` does, RECORD_NOT_FOUND, PLAN_LIMIT_REACHED and what the shards throw.
 */
export async function queryCollection(
  caller: Caller,
  background: Caller,
  shards: ShardReader,
  row: CollectionRow,
  request: CollectionQuery,
  limits: Limits,
  awayMaxMs?: number,
): Promise<QueryResult> {
  const { options, like, isEventual, allowPartial } = readQuery(row, request, limits);
  const { accountId } = row;
  const { month } = await call(caller, 'metering.takeQuery', { accountId });
  try {
    const patience = allowPartial ? { timeout: PARTIAL_WAIT_MS } : { awayMaxMs };
    const vector = await vectorOf(caller, row, like, isEventual, patience);
    const query = { ...options, vector };
    return await shards.query(caller, shardSpecs(row), query, {
      eventual: isEventual,
      partial: allowPartial,
      account: accountId,
      awayMaxMs,
    });
  } catch (error) {
    await call(background, 'metering.giveBackQuery', { accountId, month }).catch(() => undefined);
    throw allowPartial ? withoutShards(error) : error;
  }
}

async function vectorOf(
  caller: Caller,
  row: CollectionRow,
  like: CheckedQuery['like'],
  eventual: boolean,
  options: { timeout?: number; awayMaxMs?: number | undefined },
): Promise<Float32Array> {
  if ('vector' in like) return like.vector;
  const shard = shardSpec(row, shardIndexOf(like.id, row.shards));
  const params = { shard, ids: [like.id], pageMaxBytes: 1, eventual, openMaxMs: options.awayMaxMs };
  const { items } = await call(caller, 'shards.fetch', params, options);
  const [record] = items;
  if (!record) throw notFound('RECORD_NOT_FOUND');
  return record.values;
}

/** The records that exist, in the order of `ids`. */
export async function fetchRecords(
  caller: Caller,
  shards: ShardReader,
  row: CollectionRow,
  ids: string[],
  terms: Omit<ReadTerms, 'account'> = {},
): Promise<FetchedRecord[]> {
  const parts = [...splitIds(ids, row.shards)].map(([index, part]) => ({ shard: shardSpec(row, index), ids: part }));
  const byId = await shards.fetch(caller, parts, { ...terms, account: row.accountId });
  return ids.flatMap((id) => byId.get(id) ?? []);
}
