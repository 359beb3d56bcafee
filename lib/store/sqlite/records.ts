import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ShardKey } from '../../shard/key.ts';
import { StoreError } from '../port.ts';
import type { RecordChange, RecordScan, RecordStore, StoredRecord } from '../records.ts';
import { batchesOf, recordsIn } from './record-batch.ts';
import type { Remote } from './requests.ts';
import type { StoreThread } from './store-thread.ts';

/** What is packed in one turn of the event loop. */
const PACKED_MAX_BYTES = 4 * 1024 * 1024;
const RECORD_ID_MAX_BYTES = 512;

/**
 * The materialised records, as the main thread sees them. A scan is one state: it holds a read
 * transaction for as long as it runs.
 */
export class SqliteRecords implements RecordStore {
  readonly #thread: StoreThread;
  readonly #tables: Remote<'records'>;

  constructor(thread: StoreThread) {
    this.#thread = thread;
    this.#tables = thread.remote('records');
  }

  async apply(shard: ShardKey, fromSeq: number, throughSeq: number, changes: RecordChange[]): Promise<void> {
    // Only the last change of an id counts.
    const last = new Map(changes.map((change) => [checked(change.id), change]));
    const batches: ArrayBuffer[] = [];
    for (const batch of batchesOf(last.values(), PACKED_MAX_BYTES)) {
      batches.push(batch);
      await nextTurn();
    }
    const bytes = batches.reduce((sum, { byteLength }) => sum + byteLength, 0);
    await this.#thread.call('records', 'apply', [shard, fromSeq, throughSeq, batches], bytes, batches);
  }

  appliedSeq(shard: ShardKey): Promise<number> {
    return this.#tables.appliedSeq(shard);
  }

  async scan(shard: ShardKey): Promise<RecordScan> {
    const { scan, throughSeq } = await this.#tables.openScan(shard);
    const unreadable: string[] = [];
    return { throughSeq, reachedSeq: throughSeq, batches: this.#batches(scan, unreadable), unreadable };
  }

  #batches(scan: number, unreadable: string[]): AsyncIterableIterator<StoredRecord[]> {
    const tables = this.#tables;
    let isOver = false;
    return {
      async next() {
        if (isOver) return { done: true, value: undefined };
        try {
          const { batch, unreadable: more, isLast } = await tables.nextBatch(scan);
          isOver = isLast;
          unreadable.push(...more);
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
          // After the end of the store there is nothing left to end.
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
}

/**
 * Throws RangeError on ids that the API refuses: two different ill-formed strings can have one
 * UTF-8 form.
 */
function checked(id: string): string {
  const bytes = Buffer.byteLength(id);
  if (!id.isWellFormed() || bytes === 0 || bytes > RECORD_ID_MAX_BYTES)
    throw new RangeError(`a record id is well-formed Unicode of 1 to ${RECORD_ID_MAX_BYTES} bytes`);
  return id;
}
