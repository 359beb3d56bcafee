import { lastOf } from '../../lib/checked-access.ts';
import type { RecordScan, StoredRecord } from '../records.ts';
import type { Connection } from './connection.ts';
import { isRecordUnder, lastRecordId } from './document-id.ts';
import { decodeRecord, type RecordDocument, type RecordRows, sizeOf } from './record-rows.ts';
import { generationPart, type RecordShards } from './record-shards.ts';

const BATCH_BYTES = 1024 * 1024;
const FIRST_PAGE_ROWS = 100;
const PAGE_MAX_ROWS = 5_000;

/**
 * Scans all rows of a shard's current generation in `_id` order, page by page. There is no
 * snapshot: each row is as it was when its page was read. If the generation changes, the scan
 * continues in the new one from the same id. Rows of the old one may be gone by then, so a page
 * counts only if its generation was still current after the read.
 */
export async function scanRecords(
  connection: Connection,
  shards: RecordShards,
  rows: RecordRows,
  shard: string,
): Promise<RecordScan> {
  const begun = await shards.read(shard);
  const skipped = { unreadable: [], stray: [] };
  let reachedSeq: number | null = null;

  let { generation } = begun;
  let lastId = '';
  let pageRows = FIRST_PAGE_ROWS;

  const nextPage = async (): Promise<RecordDocument[] | null> => {
    if (reachedSeq !== null) return null;
    for (;;) {
      const prefix = generationPart(shard, generation);
      const page = await rows.live(prefix, `${prefix}.${lastId}`, pageRows);
      const state = await shards.read(shard);
      if (state.generation !== generation) {
        generation = state.generation;
        continue;
      }
      if (page.length < pageRows) reachedSeq = Math.max(state.reach, begun.appliedSeq);
      if (page.length === 0) return null;
      lastId = lastOf(page)._id.slice(prefix.length + 1);
      const bytes = page.reduce((sum, row) => sum + sizeOf(row), 0);
      pageRows = Math.min(PAGE_MAX_ROWS, Math.max(1, Math.floor((BATCH_BYTES * page.length) / bytes)));
      return page;
    }
  };

  async function* batches(): AsyncGenerator<StoredRecord[], void, undefined> {
    for (;;) {
      const page = await connection.run('read', 'scanning records', nextPage);
      if (page === null) return;
      for (const batch of batchesOf(page, generationPart(shard, generation), skipped)) yield batch;
    }
  }

  return {
    throughSeq: begun.appliedSeq,
    batches: batches(),
    ...skipped,
    get reachedSeq() {
      if (reachedSeq === null) throw new RangeError('reachedSeq is known only once the scan has been read to the end');
      return reachedSeq;
    },
  };
}

/** Adds the ids of rows that are not records under `prefix` to `skipped`. */
function* batchesOf(
  page: RecordDocument[],
  prefix: string,
  skipped: Pick<RecordScan, 'unreadable' | 'stray'>,
): Iterable<StoredRecord[]> {
  let batch: StoredRecord[] = [];
  let bytes = 0;
  for (const row of page) {
    const record = decodeRecord(row);
    if (!isRecordUnder(prefix, row._id)) skipped.stray.push(lastRecordId(row._id));
    else if (record === null) skipped.unreadable.push(lastRecordId(row._id));
    else batch.push(record);
    bytes += sizeOf(row);
    if (bytes < BATCH_BYTES) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
