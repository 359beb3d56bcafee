import { setImmediate as nextTurn } from 'node:timers/promises';
import { getLastVersion } from 'lmdb';
import type { ShardKey } from '../../shard/shard-key.ts';
import { StoreError } from '../port.ts';
import type { RecordChange, RecordScan, RecordStore, StoredRecord } from '../records.ts';
import type { Environment, RowChange, Snapshot, Table, VersionedTable } from './environment.ts';
import { decodeRecord, encodeRecord } from './record-codec.ts';
import { keyAfter, prefixRange, recordKey, shardPart } from './row-key.ts';
import { damaged, storeFailure } from './store-failure.ts';

const SCAN_BATCH_BYTES = 1024 * 1024;
const ENCODE_SLICE_BYTES = 4 * 1024 * 1024;
/** An id may begin with U+FEFF, which a decoder takes for a byte order mark by default. */
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Tables: shard + id -> record; shard -> mark, as the version of its row. The mark moves in the commit that changes the records, so no tombstones are needed. */
export class LmdbRecords implements RecordStore {
  readonly #env: Environment;
  readonly #records: Table;
  readonly #marks: VersionedTable;

  constructor(env: Environment) {
    this.#env = env;
    this.#records = env.table('records');
    this.#marks = env.versionedTable('marks');
  }

  async apply(shard: ShardKey, fromSeq: number, throughSeq: number, changes: RecordChange[]): Promise<void> {
    const part = shardPart(shard);
    // Only the last change of an id counts.
    const last = new Map(changes.map(({ id, record }) => [id, record]));
    const rows: RowChange[] = [];
    let bytes = 0;
    for (const [id, record] of last) {
      const value = record && encodeRecord(record);
      rows.push({ key: recordKey(part, id), value });
      bytes += value?.byteLength ?? 0;
      if (bytes > ENCODE_SLICE_BYTES) {
        bytes = 0;
        await nextTurn();
      }
    }
    await this.#env.swap({
      versions: this.#marks,
      key: part,
      next: (mark) => (mark >= throughSeq || mark < fromSeq ? null : throughSeq),
      table: this.#records,
      changes: rows,
    });
  }

  async appliedSeq(shard: ShardKey): Promise<number> {
    return this.#env.read(() => this.#mark(shardPart(shard)));
  }

  async scan(shard: ShardKey): Promise<RecordScan> {
    const part = shardPart(shard);
    const snapshot = this.#env.snapshot();
    try {
      const throughSeq = this.#mark(part, snapshot);
      const unreadable: string[] = [];
      return { throughSeq, reachedSeq: throughSeq, batches: this.#batches(part, snapshot, unreadable), unreadable };
    } catch (error) {
      this.#env.release(snapshot);
      throw storeFailure(error, 'reading records');
    }
  }

  async get(shard: ShardKey, ids: string[]): Promise<StoredRecord[]> {
    const part = shardPart(shard);
    return this.#env.read(() => {
      const found: StoredRecord[] = [];
      for (const id of new Set(ids)) {
        const value = this.#records.getBinary(recordKey(part, id));
        if (value === undefined) continue;
        const record = decodeRecord(id, value);
        if (record === null) throw damaged('A record');
        found.push(record);
      }
      return found;
    });
  }

  /** The tables whose keys start with the collection. */
  get tables(): Table[] {
    return [this.#records, this.#marks];
  }

  #mark(part: Buffer, snapshot?: Snapshot): number {
    return this.#marks.get(part, { transaction: snapshot?.transaction }) === undefined ? 0 : getLastVersion();
  }

  #batches(part: Buffer, snapshot: Snapshot, unreadable: string[]): AsyncIterableIterator<StoredRecord[]> {
    const env = this.#env;
    let start: Buffer | null = part;
    const next = async (): Promise<IteratorResult<StoredRecord[], undefined>> => {
      // A turn of the event loop between batches lets requests in.
      await nextTurn();
      if (start === null) return { done: true, value: undefined };
      if (!env.holds(snapshot)) throw new StoreError('closed', 'The store was closed during a scan.');
      try {
        const slice = this.#slice(part, start, snapshot, unreadable);
        start = slice.next;
        if (start !== null) return { done: false, value: slice.batch };
        env.release(snapshot);
        return slice.batch.length > 0 ? { done: false, value: slice.batch } : { done: true, value: undefined };
      } catch (error) {
        start = null;
        env.release(snapshot);
        throw storeFailure(error, 'scanning records');
      }
    };
    return {
      next,
      async return() {
        start = null;
        env.release(snapshot);
        return { done: true, value: undefined };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /** Records from key `start` on, up to the size of a batch, and the key to go on from; null at the end. Ids of those that do not decode go to `unreadable`. */
  #slice(
    part: Buffer,
    start: Buffer,
    { transaction }: Snapshot,
    unreadable: string[],
  ): { batch: StoredRecord[]; next: Buffer | null } {
    const batch: StoredRecord[] = [];
    let bytes = 0;
    for (const { key, value } of this.#records.getRange({ start, end: prefixRange(part).end, transaction })) {
      const id = UTF8.decode(key.subarray(part.length));
      const record = decodeRecord(id, value);
      if (record === null) unreadable.push(id);
      else batch.push(record);
      bytes += value.byteLength + key.byteLength;
      if (bytes >= SCAN_BATCH_BYTES) return { batch, next: keyAfter(key) };
    }
    return { batch, next: null };
  }
}
