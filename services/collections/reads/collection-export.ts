/**
 * Exports all records of a collection, as they were when the export began, in parts.
 *
 * The records of all parts together have the root that the first part names, no matter what is
 * written meanwhile: each shard takes a snapshot at the beginning, and each part has a page of
 * every snapshot. A shard drops its snapshot when it moves or closes, or after 30 seconds without a
 * call to read or keep it. The export then fails with UNAVAILABLE and can only be started again.
 */
import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { ExportedRecord, ExportPart, ExportPosition } from '../../../contracts/actions/collections.ts';
import { unavailable } from '../../../lib/errors.ts';
import { parseStoredId } from '../../../lib/records/namespace.ts';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import type { AnswerPage, FetchedRecord } from '../../../lib/shard/match.ts';
import type { ShardReads } from '../../../lib/shard/read.ts';
import { shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import type { CollectionRow } from '../../../store/catalog.ts';

/** Position in a shard's snapshot; null at its end. */
type RestOf = { index: number; rest: string | null };

/**
 * Maximum size of the first part, over all shards, and of any part. Each part may be `GROWTH` times
 * as large as the one before, so that a client that leaves early has cost little.
 */
const FIRST_MAX_BYTES = 128 * 1024;
const PART_MAX_BYTES = 4 * 1024 * 1024;
const GROWTH = 4;

/**
 * Returns the first part. Throws the shards' errors, and then releases the other shards' snapshots
 * through `background`, whose calls may outlive the request.
 */
export async function beginExport(
  caller: Caller,
  background: Caller,
  row: CollectionRow,
  openMaxMs?: number,
): Promise<ExportPart> {
  const read = { op: 'export', pageMaxBytes: pageMaxBytes(FIRST_MAX_BYTES, row.shards) } as const;
  const beginning = shardSpecs(row).map(async (shard) => {
    return (await call(caller, 'shards.read', { shard, read, openMaxMs })) as ShardReads['export']['result'];
  });
  const begun = await Promise.all(beginning).catch((error: unknown) => {
    // A shard that did not answer has nothing to release.
    for (const [index, shard] of beginning.entries())
      void shard.then(({ page }) => leave(background, row, { index, rest: page.rest })).catch(() => undefined);
    throw error;
  });
  const { merkleRoot, version, vectorCount } = collectionRoot(begun.map(({ head }) => head));
  const { id: collectionId, name, dimensions, metric } = row;
  const head = { collectionId, name, dimensions, metric, version, merkleRoot, vectorCount };
  const pages = begun.map(({ page }, index) => ({ index, ...page }));
  return { head, ...partOf(pages, { collectionId, merkleRoot, count: 0, partMaxBytes: FIRST_MAX_BYTES }) };
}

/** Returns the part after `at`. Throws UNAVAILABLE if a shard has dropped its snapshot. */
export async function continueExport(caller: Caller, row: CollectionRow, at: ExportPosition): Promise<ExportPart> {
  const maxBytes = pageMaxBytes(at.partMaxBytes, at.rests.length);
  const pages = await Promise.all(
    at.rests.map(async ({ index, rest }) => {
      const params = { shard: shardSpec(row, index), rest, pageMaxBytes: maxBytes };
      const page = (await call(caller, 'shards.next', params)) as AnswerPage<FetchedRecord> | null;
      if (page === null) throw unavailable('A shard was moved or closed during the export; start the export again.');
      return { index, ...page };
    }),
  );
  return partOf(pages, at);
}

/** Keeps the snapshots for another 30 seconds. Ignores shards that fail. */
export async function keepExport(caller: Caller, row: CollectionRow, at: ExportPosition): Promise<null> {
  const keep = ({ index, rest }: ExportPosition['rests'][number]) =>
    call(caller, 'shards.next', { shard: shardSpec(row, index), rest, pageMaxBytes: 0 });
  await Promise.allSettled(at.rests.map(keep));
  return null;
}

/** Releases the snapshots, best effort: those not released expire. */
export async function leaveExport(caller: Caller, row: CollectionRow, at: ExportPosition): Promise<null> {
  await Promise.allSettled(at.rests.map((rest) => leave(caller, row, rest)));
  return null;
}

async function leave(caller: Caller, row: CollectionRow, { index, rest }: RestOf): Promise<void> {
  if (rest !== null) await call(caller, 'shards.leave', { shard: shardSpec(row, index), rest });
}

function partOf(
  pages: readonly ({ index: number } & AnswerPage<FetchedRecord>)[],
  { count: before, partMaxBytes, ...at }: Omit<ExportPosition, 'rests'>,
): ExportPart {
  const records = pages.flatMap(({ items }) => items.map(exported));
  const count = before + records.length;
  const rests = pages.flatMap(({ index, rest }) => (rest === null ? [] : [{ index, rest }]));
  const next = { ...at, rests, count, partMaxBytes: Math.min(PART_MAX_BYTES, partMaxBytes * GROWTH) };
  if (rests.length > 0) return { records, next };
  return { records, end: { count, merkleRoot: at.merkleRoot } };
}

/** An id that no request could contain is exported as it is stored. */
function exported({ id: stored, ...content }: FetchedRecord): ExportedRecord {
  const { id, namespace } = parseStoredId(stored) ?? { id: stored, namespace: '' };
  return { id, namespace, ...content };
}

const pageMaxBytes = (partMaxBytes: number, shards: number): number => Math.ceil(partMaxBytes / shards);
