/**
 * Copies committed log entries to the materialised records, in order and in the background.
 *
 * Guarantees: a shard's applied seq only grows. Each entry is applied once, however often it is
 * tried. In an anchored collection, the applied seq never passes the last confirmed root. On
 * failure: a failed pass loses nothing and is retried after a growing pause, while the passes of
 * other shards continue. Passes run one at a time, so a slow one delays the others. At an entry
 * that is missing or cannot be decoded, the shard is not materialised further. See
 * docs/internals/shard.md.
 */

import { Mutex } from 'async-mutex';
import type { Logger } from 'pino';
import { firstOf } from '../../../lib/checked-access.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Store } from '../../../store/port.ts';
import type { RecordChange } from '../../../store/records.ts';
import { changesIn } from '../entry.ts';
import { anchoredBound } from './anchored-bound.ts';

const QUIET_MS = 250;
/**
 * Time, in ms, after which held shards are retried in case the notification of a confirmed root was
 * lost.
 */
const HELD_RETRY_MS = 60_000;
const PASS_MAX_BYTES = 2 * 1024 * 1024;
const PAUSE = { minMs: 1_000, maxMs: 60_000 };

interface Pause {
  failures: number;
  /** Null while the shard is being retried. */
  timer: NodeJS.Timeout | null;
}

/**
 * The applied seq after a pass, whether there may be more to apply, and whether writes wait for
 * their root to be confirmed.
 */
interface Pass {
  appliedSeq: number;
  more: boolean;
  isHeld: boolean;
}

export class Materialiser {
  #store: Store;
  #log: Logger;
  #onBound: (key: ShardKey, seq: number) => void;
  #due = new Set<ShardKey>();
  #pauses = new Map<ShardKey, Pause>();
  /** Shards stopped at an entry that cannot be applied, with its seq. */
  #stuck = new Map<ShardKey, number>();
  /** Shards whose writes wait for a confirmed root, by collection. */
  #held = new Map<string, Set<ShardKey>>();
  #heldTimer: NodeJS.Timeout | null = null;
  /** Collections that `forget` is waiting for. */
  #forgotten = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;
  /** Runs one pass at a time. */
  readonly #turns = new Mutex();
  #stopped = false;

  /** `onBound` is called with the seq of each confirmed root that a pass finds. */
  constructor(store: Store, log: Logger, onBound: (key: ShardKey, seq: number) => void = () => undefined) {
    this.#store = store;
    this.#log = log;
    this.#onBound = onBound;
  }

  /** Schedules the shard after a commit. */
  wake(key: ShardKey): void {
    if (this.#isForgotten(key) || this.#stuck.has(key) || this.#pauses.get(key)?.timer || this.#isHeld(key)) return;
    this.#due.add(key);
    this.#schedule();
  }

  /** Reschedules the collection's held shards, because a root may have been confirmed. */
  anchored(collectionId: CollectionId): void {
    const keys = this.#held.get(collectionId) ?? [];
    this.#held.delete(collectionId);
    for (const key of keys) this.wake(key);
  }

  /**
   * Applies everything in the shard's log at the time of the call, as far as possible. Returns the
   * applied seq. With `passOver`, entries that cannot be decoded count as empty: an operator
   * declared the shard's content without them right. Throws StoreError.
   */
  async catchUp(key: ShardKey, passOver = false): Promise<number> {
    // Do not loop until the log is empty: a steady writer would keep that going forever.
    const goal = (await this.#store.log.head(key))?.seq ?? 0;
    for (;;) {
      const { appliedSeq, more } = await this.#turns.runExclusive(() => this.#pass(key, passOver));
      if (!more || appliedSeq >= goal) return appliedSeq;
    }
  }

  /**
   * Resolves when nothing is being applied any more for a collection with closed shards, so that
   * its records can be removed.
   */
  async forget(collectionId: CollectionId): Promise<void> {
    this.#forgotten.add(collectionId);
    for (const [key, { timer }] of this.#pauses) if (timer && this.#isForgotten(key)) clearTimeout(timer);
    for (const rows of [this.#pauses, this.#stuck, this.#due])
      for (const key of rows.keys()) if (this.#isForgotten(key)) rows.delete(key);
    this.#held.delete(collectionId);
    await this.#turns.runExclusive(() => this.#forgotten.delete(collectionId));
  }

  /** Stops. Entries not applied yet wait for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    if (this.#heldTimer) clearTimeout(this.#heldTimer);
    for (const { timer } of this.#pauses.values()) if (timer) clearTimeout(timer);
    await this.#running;
    await this.#turns.runExclusive(() => undefined);
  }

  #schedule(): void {
    if (this.#timer || this.#running || this.#stopped || this.#due.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#running = this.#run().finally(() => {
        this.#running = null;
        this.#schedule();
      });
    }, QUIET_MS);
  }

  /** Runs one pass per due shard in turn until none is due. */
  async #run(): Promise<void> {
    while (this.#due.size > 0 && !this.#stopped) {
      const key = firstOf(this.#due.values());
      this.#due.delete(key);
      await this.#turns.runExclusive(() => this.#attempt(key));
    }
  }

  async #attempt(key: ShardKey): Promise<void> {
    try {
      const { appliedSeq, more, isHeld } = await this.#pass(key);
      this.#pauses.delete(key);
      if (this.#isForgotten(key)) return;
      if (more) this.#due.add(key);
      else if (isHeld) await this.#hold(key, appliedSeq);
    } catch (error) {
      this.#pause(key, error);
    }
  }

  #pause(key: ShardKey, error: unknown): void {
    if (this.#isForgotten(key) || this.#stopped) return;
    const failures = this.#pauses.get(key)?.failures ?? 0;
    const ms = backoffMs(failures, PAUSE);
    this.#log.warn({ err: error, shard: key, pauseMs: ms }, 'could not materialise a shard; trying again');
    const pause: Pause = {
      failures: failures + 1,
      timer: setTimeout(() => {
        pause.timer = null;
        this.wake(key);
      }, ms),
    };
    this.#pauses.set(key, pause);
  }

  async #hold(key: ShardKey, appliedSeq: number): Promise<void> {
    const { collectionId } = parseShardKey(key);
    const keys = this.#held.get(collectionId) ?? new Set();
    this.#held.set(collectionId, keys.add(key));
    try {
      // A confirmation that arrived before the shard was registered went unnoticed.
      if ((await anchoredBound(this.#store.anchors, key)) > appliedSeq) this.anchored(collectionId);
    } catch (error) {
      // The retry would skip a held shard.
      keys.delete(key);
      throw error;
    }
    if (this.#stopped) return;
    this.#heldTimer ??= setTimeout(() => {
      this.#heldTimer = null;
      for (const id of [...this.#held.keys()]) this.anchored(id);
    }, HELD_RETRY_MS).unref();
  }

  #isHeld(key: ShardKey): boolean {
    return this.#held.size > 0 && this.#held.get(parseShardKey(key).collectionId)?.has(key) === true;
  }

  async #pass(key: ShardKey, passOver = false): Promise<Pass> {
    const { log, records, anchors } = this.#store;
    const appliedSeq = await records.appliedSeq(key);
    if (this.#isForgotten(key)) return { appliedSeq, more: false, isHeld: false };
    const read = await log.read(key, appliedSeq, PASS_MAX_BYTES);
    // An operator's decision overrides the ledger.
    const bound = passOver || read.length === 0 ? Number.POSITIVE_INFINITY : await anchoredBound(anchors, key);
    if (Number.isFinite(bound)) this.#onBound(key, bound);
    const entries = read.filter(({ seq }) => seq <= bound);
    const isHeld = read.slice(entries.length).some(({ kind }) => kind === 'write');
    const last = new Map<string, RecordChange>();
    let through = appliedSeq;
    for (const entry of entries) {
      if (entry.seq !== through + 1) break;
      const isEmpty = entry.kind === 'open' || entry.kind === 'void';
      const changes = isEmpty ? [] : (changesIn(entry) ?? (passOver ? [] : null));
      if (changes === null) break;
      for (const change of changes) last.set(change.id, change);
      through = entry.seq;
    }
    const left = entries.length > through - appliedSeq;
    // If another node holds the shard by now, it may have materialised and trimmed these entries.
    if (left && (await records.appliedSeq(key)) > appliedSeq) return { appliedSeq, more: true, isHeld };
    if (!left) this.#stuck.delete(key);
    else if (this.#stuck.get(key) !== through + 1) {
      const place = { shard: key, seq: through + 1 };
      this.#stuck.set(key, place.seq);
      this.#log.error(place, 'a stored log entry does not decode; materialising stops before it');
    }
    if (through > appliedSeq) await records.apply(key, appliedSeq, through, [...last.values()]);
    return { appliedSeq: through, more: through > appliedSeq && !left && entries.length === read.length, isHeld };
  }

  #isForgotten(key: ShardKey): boolean {
    return this.#forgotten.size > 0 && this.#forgotten.has(parseShardKey(key).collectionId);
  }
}
