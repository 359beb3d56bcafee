import type { ShardKey } from '../../../lib/shard/key.ts';
import type { LogEntry } from '../../../store/log.ts';
import type { LeaseRow, OwnerRow } from '../../../store/owners.ts';
import type { StoredRecord } from '../../../store/records.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface RecordRow {
  seq: number;
  /** Null when deleted. */
  record: StoredRecord | null;
}

/** Rows of one shard on one member of the replica set. */
export class ShardRows {
  /** All entries that ever existed, trimmed or not, by seq - 1. */
  log: LogEntry[] = [];
  trimmedThrough = 0;
  owner: OwnerRow | null = null;
  records = new Map<string, RecordRow>();
  mark = 0;
  /** Number of times that records or the mark were set. */
  recordChanges = 0;

  clone(): ShardRows {
    return Object.assign(new ShardRows(), this, { log: [...this.log], records: new Map(this.records) });
  }
}

/** Rows of the simulated collection, and the leases, on one member of the replica set. */
export class Rows {
  leases = new Map<string, LeaseRow>();
  /** Whether the collection was deleted. */
  isDropped = false;
  #shards = new Map<ShardKey, ShardRows>();

  of(shard: ShardKey): ShardRows {
    let rows = this.#shards.get(shard);
    if (rows === undefined) {
      rows = new ShardRows();
      this.#shards.set(shard, rows);
    }
    return rows;
  }

  /** Number of claims made. */
  get epochs(): number {
    return [...this.#shards.values()].reduce((total, { owner }) => total + (owner?.epoch ?? 0), 0);
  }

  /** Removes the collection's data. */
  clear(): void {
    this.#shards.clear();
  }

  clone(): Rows {
    const copy = new Rows();
    copy.leases = new Map(this.leases);
    copy.isDropped = this.isDropped;
    for (const [shard, rows] of this.#shards) copy.#shards.set(shard, rows.clone());
    return copy;
  }
}

/** Outcome of a write: its result, and the change that it makes; null for no change. */
export interface Decision<T> {
  result: T;
  set: ((rows: Rows) => void) | null;
}

export type WriteEnd<T> = { end: 'durable'; result: T } | { end: 'interrupted' };

interface Operation {
  set(rows: Rows): void;
  answer(end: 'durable' | 'interrupted'): void;
}

/**
 * A replica set. Its primary applies writes at once, in order. A majority has a write some time
 * later; then it is acknowledged and readable. A write that changes nothing is acknowledged when a
 * majority has everything that the decision was based on, as in MongoDB. A failover takes back the
 * writes that no majority had, starting with the last one.
 */
export class SimulatedDatabase {
  /** State that a majority has. */
  durable = new Rows();
  isDown = false;
  /** Time until a write reaches a majority. */
  lagMs: () => number = () => 0;
  readonly #time: VirtualTime;
  readonly #onDurable: () => void;
  #primary = this.durable;
  #pending: Operation[] = [];
  #term = 0;
  #allDurableAtMs = 0;

  constructor(time: VirtualTime, onDurable: () => void) {
    this.#time = time;
    this.#onDurable = onDurable;
  }

  /** The primary's state, including writes that it may lose. */
  get primary(): Rows {
    return this.#primary;
  }

  write<T>(decide: (primary: Rows) => Decision<T>, answer: (end: WriteEnd<T>) => void): void {
    const { result, set } = decide(this.#primary);
    if (set === null && this.#pending.length === 0) {
      answer({ end: 'durable', result });
      return;
    }
    const lagMs = set === null ? 0 : this.lagMs();
    if (set !== null && lagMs === 0 && this.#pending.length === 0) {
      this.#take({ set, answer: () => answer({ end: 'durable', result }) });
      return;
    }
    if (this.#primary === this.durable) this.#primary = this.durable.clone();
    set?.(this.#primary);
    const operation: Operation = {
      set: set ?? (() => undefined),
      answer: (end) => answer(end === 'durable' ? { end, result } : { end }),
    };
    this.#pending.push(operation);
    const term = this.#term;
    // A majority gets writes in order.
    this.#allDurableAtMs = Math.max(this.#allDurableAtMs, this.#time.nowMs + lagMs);
    this.#time.after(this.#allDurableAtMs - this.#time.nowMs, () => {
      if (term !== this.#term) return;
      const through = this.#pending.indexOf(operation);
      for (const one of this.#pending.splice(0, through + 1)) this.#take(one);
      this.#level();
    });
  }

  /**
   * Another primary takes over. It has the first `kept` (0 to 1) of the writes that no majority
   * had; the rest is lost.
   */
  failover(kept: number): void {
    this.#term++;
    this.#allDurableAtMs = 0;
    const pending = this.#pending.splice(0);
    const survivors = Math.round(pending.length * kept);
    pending.forEach(({ set, answer }, at) => {
      if (at < survivors) this.#take({ set, answer: () => undefined });
      answer('interrupted');
    });
    this.#level();
  }

  #take({ set, answer }: Operation): void {
    set(this.durable);
    this.#onDurable();
    answer('durable');
  }

  #level(): void {
    if (this.#pending.length === 0) this.#primary = this.durable;
  }
}
