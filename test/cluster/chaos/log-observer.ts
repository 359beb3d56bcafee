import { setTimeout as delay } from 'node:timers/promises';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import { changesOf } from '../../../services/shards/entry.ts';
import type { LogEntry } from '../../../store/log.ts';
import type { Store } from '../../../store/port.ts';

const LOOK_EVERY_MS = 100;
const READ_MAX_BYTES = 4 * 2 ** 20;

/**
 * Reads the logs of a collection's shards from outside, entry by entry, before they are trimmed.
 */
export class LogObserver {
  readonly #store: Store;
  readonly #seqs = new Map<ShardKey, number>();
  readonly #epochs = new Map<ShardKey, number>();
  readonly #entryIds = new Set<string>();
  /** Number of records that committed entries counted as written. */
  writes = 0;
  /**
   * Values in committed entries. When an entry writes a record several times, only the last value
   * is visible.
   */
  readonly values = new Set<string>();
  readonly faults: string[] = [];
  /**
   * Number of entries trimmed before they were read: two checkpoints may follow each other closely.
   */
  missed = 0;

  constructor(store: Store, collectionId: string, shards: number) {
    this.#store = store;
    for (let index = 0; index < shards; index++) this.#seqs.set(shardKey(collectionId, index), 0);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Retries when the store is down.
      await this.catchUp().catch(() => undefined);
      await delay(LOOK_EVERY_MS);
    }
  }

  /** Reads all new entries. Throws StoreError. */
  async catchUp(): Promise<void> {
    for (const shard of this.#seqs.keys()) {
      for (;;) {
        const entries = await this.#store.log.read(shard, this.#seqs.get(shard)!, READ_MAX_BYTES);
        if (entries.length === 0) break;
        await this.#pass(shard, entries[0]!.seq);
        for (const entry of entries) this.#add(entry);
      }
    }
  }

  /** Continues at `seq` when the entries before it were trimmed. */
  async #pass(shard: ShardKey, seq: number): Promise<void> {
    const unseen = seq - this.#seqs.get(shard)! - 1;
    if (unseen <= 0) return;
    const firstSeq = await this.#store.log.firstSeq(shard);
    // The log may be trimmed further by now. An entry still present before `seq` means that the log
    // skipped it.
    if (firstSeq !== null && firstSeq < seq) return;
    this.missed += unseen;
    this.#seqs.set(shard, seq - 1);
  }

  #add({ shard, seq, epoch, entryId, kind, tally, body }: LogEntry): void {
    const expected = this.#seqs.get(shard)! + 1;
    if (seq !== expected) this.faults.push(`the log of ${shard} has ${seq} where ${expected} comes next`);
    this.#seqs.set(shard, seq);
    const before = this.#epochs.get(shard) ?? 0;
    if (epoch < before) this.faults.push(`${shard} has an entry of epoch ${epoch} at ${seq}, after one of ${before}`);
    this.#epochs.set(shard, epoch);
    if (this.#entryIds.has(entryId)) this.faults.push(`an entry of ${shard} was committed twice, again at ${seq}`);
    this.#entryIds.add(entryId);
    if (kind !== 'write') return;
    this.writes += tally?.writes ?? 0;
    for (const { record } of changesOf(body, seq))
      if (record) this.values.add((JSON.parse(Buffer.from(record.metadata).toString()) as { value: string }).value);
  }
}
