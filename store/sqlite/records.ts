import { setImmediate as nextTurn } from 'node:timers/promises';
import { lastOf } from '../../lib/checked-access.ts';
import { STORED_ID_MAX_BYTES } from '../../lib/records/namespace.ts';
import { StoreError } from '../port.ts';
import type { RecordScan, RecordStore, StoredRecord } from '../records.ts';
import { batchesOf, decodeRecordId, isRecordId, recordsIn } from './record-batch.ts';
import type { Remote } from './requests.ts';
import type { StoreThread } from './store-thread.ts';

/** Bytes encoded per turn of the event loop. */
const PACKED_MAX_BYTES = 4 * 1024 * 1024;
const PAGE_ROWS = 1_000;

/**
 * The materialised records, called from the main thread. A scan is a snapshot: it holds a read
 * transaction while it runs.
 */
export function recordsOf(thread: StoreThread): RecordStore {
  const tables = thread.remote('records');
  const own: Pick<RecordStore, 'apply' | 'scan' | 'removeForeign'> = {
    async apply(shard, fromSeq, throughSeq, changes) {
      // Only the last change of an id counts.
      const last = new Map(changes.map((change) => [checked(change.id), change]));
      const batches: ArrayBuffer[] = [];
      for (const batch of batchesOf(last.values(), PACKED_MAX_BYTES)) {
        batches.push(batch);
        await nextTurn();
      }
      const bytes = batches.reduce((sum, { byteLength }) => sum + byteLength, 0);
      await thread.call('records', 'apply', [shard, fromSeq, throughSeq, batches], bytes, batches);
    },

    async scan(shard) {
      const { scan, throughSeq } = await tables.openScan(shard);
      const skipped = { unreadable: [], stray: [] };
      const batches = batchesIn(tables, scan, skipped);
      return { throughSeq, reachedSeq: throughSeq, batches, ...skipped };
    },

    async removeForeign(shard, isOwn) {
      for (let after = -1; ; ) {
        const rows = await tables.rowsAfter(shard, after, PAGE_ROWS);
        const foreign = rows.filter(
          ({ isOfNumber, id }) => !isOfNumber || !isRecordId(id) || !isOwn(decodeRecordId(id)),
        );
        if (foreign.length > 0) {
          const places = foreign.map(({ place }) => place);
          await tables.removeAt(shard, places);
        }
        if (rows.length < PAGE_ROWS) return;
        after = lastOf(rows).place;
      }
    },
  };
  return thread.remote('records', own);
}

function batchesIn(
  tables: Remote<'records'>,
  scan: number,
  skipped: Pick<RecordScan, 'unreadable' | 'stray'>,
): AsyncIterableIterator<StoredRecord[]> {
  let isOver = false;
  return {
    async next() {
      if (isOver) return { done: true, value: undefined };
      try {
        const { batch, unreadable, stray, isLast } = await tables.nextBatch(scan);
        isOver = isLast;
        skipped.unreadable.push(...unreadable);
        skipped.stray.push(...stray);
        const records = recordsIn(batch);
        return isLast && records.length === 0 ? { done: true, value: undefined } : { done: false, value: records };
      } catch (error) {
        isOver = true;
        throw error;
      }
    },
    async return() {
      if (!isOver) {
        isOver = true;
        // Closing the store ended all scans.
        await tables.closeScan(scan).catch((error: unknown) => {
          if (!(error instanceof StoreError && error.kind === 'closed')) throw error;
        });
      }
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Throws RangeError on ids that the API refuses: two different ill-formed strings can have the same
 * UTF-8 encoding.
 */
function checked(id: string): string {
  const bytes = Buffer.byteLength(id);
  if (!id.isWellFormed() || bytes === 0 || bytes > STORED_ID_MAX_BYTES)
    throw new RangeError(`a record id must be well-formed Unicode of 1 to ${STORED_ID_MAX_BYTES} bytes`);
  return id;
}
