import { type Caller, call } from '../../../contracts/actions/call.ts';
import type {
  AbsentFieldsOption,
  CountResult,
  FacetsResult,
  RecordsPage,
} from '../../../contracts/actions/collections.ts';
import {
  cursorAfter,
  cursorAfterStored,
  idOfCursor,
  storedIdOfCursor,
} from '../../../contracts/requests/listing-cursor.ts';
import type { DecodedRequest } from '../../../contracts/requests/requests.ts';
import type { Consistency } from '../../../contracts/requests/vector-requests.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import type { FilterNode } from '../../../lib/filter/ast.ts';
import { allRecordsRange, storedIds, storedRange, withPlainIds } from '../../../lib/records/namespace.ts';
import { fieldsToFind } from '../../../lib/shard/field-report.ts';
import type { FetchedRecord } from '../../../lib/shard/match.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import { shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { splitIds } from '../shard-routing.ts';
import { mergeFieldReports } from './absent-fields.ts';
import { type ReadOptions, readShard, type ShardReader } from './shard-reader.ts';

/** Read of a collection on behalf of `caller`. */
export interface CollectionRead extends AbsentFieldsOption {
  caller: Caller;
  row: CollectionRow;
  shards: ShardReader;
  /** Time in ms to wait for an unavailable shard; default: no limit of its own. */
  openMaxMs?: number | undefined;
}

export function readOptionsOf({ row, openMaxMs }: CollectionRead, consistency?: Consistency): ReadOptions {
  return { eventual: consistency === 'eventual', account: row.accountId, openMaxMs };
}

/** Counts the matching records. Throws the shards' errors. */
export function countRecords(read: CollectionRead, selected: DecodedRequest<'count'>): Promise<CountResult> {
  return countScope(read, scopeOf(read, selected), readOptionsOf(read, selected.consistency));
}

/** Counts the records in a scope. Throws the shards' errors. */
export async function countScope(
  { caller, row }: Pick<CollectionRead, 'caller' | 'row'>,
  scope: RecordScope,
  options: ReadOptions,
): Promise<CountResult> {
  const read = { op: 'count', ...scope } as const;
  const counts = await Promise.all(shardSpecs(row).map((shard) => readShard(caller, shard, read, options)));
  const count = counts.reduce((total, each) => total + each.count, 0);
  return { count, ...mergeFieldReports(counts.map(({ fields }) => fields)) };
}

/**
 * Counts the stored ids that no record has. Waits at most `openMaxMs` for an unavailable shard.
 * Throws the shards' errors.
 */
export async function countAbsent(
  { caller, row }: Pick<CollectionRead, 'caller' | 'row'>,
  ids: string[],
  openMaxMs: number | undefined,
): Promise<number> {
  const counts = [...splitIds(ids, row.shards)].map(([index, part]) => {
    return call(caller, 'shards.countNew', { shard: shardSpec(row, index), ids: part, openMaxMs });
  });
  return (await Promise.all(counts)).reduce((total, count) => total + count, 0);
}

export function totalOf(counts: ReadonlyMap<number, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** Returns a field's most frequent values among the matching records. Throws shards' errors. */
export function countValues(
  read: CollectionRead,
  { field, limit, ...selected }: DecodedRequest<'facets'>,
): Promise<FacetsResult> {
  const asked = { field, limit, ...scopeOf(read, selected, field) };
  return read.shards.facets(read.caller, shardSpecs(read.row), asked, readOptionsOf(read, selected.consistency));
}

/**
 * Returns one page of the records, ordered by the UTF-8 bytes of their ids, or of their stored ids
 * if it covers all namespaces. Each page starts after the id in the cursor, so a record that exists
 * throughout appears exactly once, no matter what is written meanwhile. Throws the shards' errors.
 */
export async function listRecords(read: CollectionRead, request: DecodedRequest<'list'>): Promise<RecordsPage> {
  const { prefix, limit, cursor, includeValues, includeMetadata, consistency } = request;
  const scope = scopeOf(read, request);
  const { namespace } = scope;
  // One more than the page, to see whether another page follows.
  const part = { ...rangeOf(namespace, cursor, prefix), limit: limit + 1 };
  const listing = { ...scope, ...part, includeValues, includeMetadata };
  const found = await read.shards.list(read.caller, shardSpecs(read.row), listing, readOptionsOf(read, consistency));
  const records = withPlainIds(namespace, found.records.slice(0, limit));
  const page = { ...found, records };
  if (found.records.length <= limit) return page;
  const nextCursor =
    namespace === null
      ? cursorAfterStored(itemAt(found.records, limit - 1).id)
      : cursorAfter(itemAt(records, limit - 1).id);
  return { ...page, nextCursor };
}

/** Throws INVALID_ARGUMENT if a cursor for one namespace is used for all, or the reverse. */
function rangeOf(namespace: string | null, cursor: string | undefined, prefix: string | undefined) {
  if (namespace === null) return allRecordsRange(cursor === undefined ? null : storedIdOfCursor(cursor));
  return storedRange(namespace, cursor === undefined ? null : idOfCursor(cursor), prefix);
}

/** The fields of a request that select records; without a filter, all of the namespace. */
interface RecordSelection {
  namespace: string;
  allNamespaces?: boolean;
  filter?: FilterNode | null;
}

/**
 * Returns the scope of a request. If absent fields are wanted, the shards look for those of the
 * filter and for `field`.
 */
export function scopeOf(
  { wantsAbsentFields = false }: AbsentFieldsOption,
  { namespace: one, allNamespaces = false, filter = null }: RecordSelection,
  field?: string,
): Required<RecordScope> {
  const namespace = allNamespaces ? null : one;
  return { namespace, filter, fields: wantsAbsentFields ? fieldsToFind(filter, field) : [] };
}

/** Returns the records that exist among `ids`, in that order. */
export async function fetchRecords(
  read: CollectionRead,
  { ids, namespace, consistency }: DecodedRequest<'fetch'>,
): Promise<FetchedRecord[]> {
  const { row } = read;
  const stored = storedIds(namespace, ids);
  const parts = [...splitIds(stored, row.shards)].map(([index, part]) => ({ shard: shardSpec(row, index), ids: part }));
  const byId = await read.shards.fetch(read.caller, parts, readOptionsOf(read, consistency));
  return withPlainIds(
    namespace,
    stored.flatMap((id) => byId.get(id) ?? []),
  );
}
