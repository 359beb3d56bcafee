import type { Caller } from '../../lib/actions/call.ts';
import type { FacetsResult, RecordsPage, Selected } from '../../lib/actions/collections.ts';
import { storedIds, storedRange, withoutNamespace } from '../../lib/records/namespace.ts';
import { cursorAfter, idOfCursor } from '../../lib/requests/listing-cursor.ts';
import type { DecodedRequest } from '../../lib/requests/requests.ts';
import type { FetchedRecord } from '../../lib/shard/match.ts';
import type { RecordScope } from '../../lib/shard/scope.ts';
import { shardSpec, shardSpecs } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import { type ReadTerms, readShard, type ShardReader } from './shard-reader.ts';
import { splitIds } from './shard-routing.ts';

/** How many records match. Throws what the shards throw. */
export async function countRecords(
  caller: Caller,
  row: CollectionRow,
  selected: Selected,
  awayMaxMs?: number,
): Promise<number> {
  const terms = { eventual: selected.consistency === 'eventual', awayMaxMs };
  const counts = await countByShard(caller, row, scopeOf(selected), terms);
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** How many records of a scope each shard has, by its index. Throws what the shards throw. */
export async function countByShard(
  caller: Caller,
  row: CollectionRow,
  scope: RecordScope,
  terms: Omit<ReadTerms, 'account'> = {},
): Promise<Map<number, number>> {
  const read = { op: 'count', ...scope } as const;
  const counts = await Promise.all(shardSpecs(row).map((shard) => readShard(caller, shard, read, terms)));
  return new Map(counts.entries());
}

/** The values that a field has most, of the records that match. Throws what the shards throw. */
export function countValues(
  caller: Caller,
  shards: ShardReader,
  row: CollectionRow,
  { field, limit, ...selected }: Selected & { field: string; limit: number },
  awayMaxMs?: number,
): Promise<FacetsResult> {
  const terms = { eventual: selected.consistency === 'eventual', account: row.accountId, awayMaxMs };
  return shards.facets(caller, shardSpecs(row), { field, limit, ...scopeOf(selected) }, terms);
}

/**
 * One page of the records, in the order of their ids' UTF-8 bytes. It is read anew from the id that
 * the cursor names, so a record that stays is on one page, whatever is written between two. Throws
 * what the shards throw.
 */
export async function listRecords(
  caller: Caller,
  shards: ShardReader,
  row: CollectionRow,
  request: DecodedRequest<'list'>,
  awayMaxMs?: number,
): Promise<RecordsPage> {
  const { prefix, limit, cursor, includeValues, includeMetadata, consistency } = request;
  const scope = scopeOf(request);
  const after = cursor === undefined ? null : idOfCursor(cursor);
  // One more than the page takes says whether there is a next one.
  const part = { ...storedRange(scope.namespace, after, prefix), limit: limit + 1 };
  const terms = { eventual: consistency === 'eventual', account: row.accountId, awayMaxMs };
  const listing = { ...scope, ...part, includeValues, includeMetadata };
  const found = await shards.list(caller, shardSpecs(row), listing, terms);
  const records = withoutNamespace(scope.namespace, found.slice(0, limit));
  if (found.length <= limit) return { records };
  return { records, nextCursor: cursorAfter(records[limit - 1].id) };
}

/** `{}` filters nothing. */
export function scopeOf({ namespace = '', filter }: Selected): Required<RecordScope> {
  return { namespace, filter: filter !== undefined && Object.keys(filter).length > 0 ? filter : null };
}

/** The records of the namespace that exist, in the order of `ids`. */
export async function fetchRecords(
  caller: Caller,
  shards: ShardReader,
  row: CollectionRow,
  { ids, namespace = '' }: { ids: string[]; namespace?: string },
  terms: Omit<ReadTerms, 'account'> = {},
): Promise<FetchedRecord[]> {
  const stored = storedIds(namespace, ids);
  const parts = [...splitIds(stored, row.shards)].map(([index, part]) => ({ shard: shardSpec(row, index), ids: part }));
  const byId = await shards.fetch(caller, parts, { ...terms, account: row.accountId });
  return withoutNamespace(
    namespace,
    stored.flatMap((id) => byId.get(id) ?? []),
  );
}
