import { isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { Shard } from '../../../services/shards/engine/shard.ts';
import type { LogEntry } from '../../../store/log.ts';
import { ClientHistory } from './client-history.ts';
import { RecordHistory, valueIn } from './record-history.ts';
import type { RecordRow, ShardRows } from './simulated-database.ts';
import type { CopyReading, SimulatedNode } from './simulated-node.ts';
import type { Faults } from './violations.ts';

/**
 * Checks one shard's stored data, served data and reported heads against a model after every step:
 * - there is one commit per seq, without gaps and with the newest claim's epoch or a later one;
 * each has the root of its content (computed by another instance of the engine);
 * - heads reported to nodes and clients match the log, and responses are linearizable;
 * - materialised records match the log up to the mark, never go back, and nothing is trimmed that
 * they lack;
 * - no two nodes would answer at the same time;
 * - a copy at a seq matches the log, after every step and in every read, and never serves an older
 * state than before.
 */
export class ShardAudit {
  readonly records = new RecordHistory();
  readonly clients: ClientHistory;
  readonly #spec: ShardSpec;
  readonly #faults: Faults;
  readonly #model: Shard;
  /** The last seq that each copy served. */
  readonly #served = new WeakMap<object, number>();
  #entries: LogEntry[] = [];
  #fencedEpoch = 0;
  #isStored = false;
  #recordChanges = 0;

  constructor(spec: ShardSpec, faults: Faults) {
    this.#spec = spec;
    this.#faults = faults;
    this.#model = new Shard(spec);
    this.clients = new ClientHistory(this.records, faults);
  }

  get commits(): number {
    return this.#entries.length;
  }

  /** Notes that something was stored; the next step checks it. */
  stored(): void {
    this.#isStored = true;
  }

  /** A node got a claim: from now on entries of an earlier epoch are faults. */
  claimed(epoch: number): void {
    this.#fencedEpoch = Math.max(this.#fencedEpoch, epoch);
  }

  /** Checks the head that a node reports. */
  told(node: string, head: ShardHead): void {
    if (!this.#isLogged(head)) this.#faults.add(`${node} has another state at ${head.seq} than the log`);
  }

  /** Checks a read: the head that the node reported before, and the head when it answered. */
  read(node: string, known: ShardHead, head: ShardHead): void {
    this.told(node, known);
    if (head.seq < known.seq) this.#faults.add(`${node} answers from an older state than it knows of, ${head.seq}`);
  }

  /** Checks a read from a copy: the copy's head at that moment, and the returned value. */
  readFromCopy(node: string, id: string, { value, head, life }: CopyReading): void {
    if (!this.#isLogged(head) || this.records.valueAt(id, head.seq) !== value)
      this.#faults.add(`the copy of ${node} gave ${value} for ${id}, which it was not at ${head.seq}`);
    if (head.seq < (this.#served.get(life) ?? 0)) this.#faults.add(`the copy of ${node} went back to ${head.seq}`);
    this.#served.set(life, head.seq);
  }

  step(rows: ShardRows, nodes: readonly SimulatedNode[]): void {
    if (this.#isStored) {
      this.#isStored = false;
      this.#checkLog(rows);
      if (rows.recordChanges !== this.#recordChanges) this.#checkRecords(rows);
    }
    let server: SimulatedNode | null = null;
    for (const node of nodes) {
      if (node.wire.isDead || !node.serves(this.#spec)) continue;
      if (server !== null) this.#faults.add(`${server.name},${node.name} serve at one time`);
      server = node;
    }
  }

  /** Checks the new head of a copy that changed. */
  copied(node: string, head: ShardHead): void {
    if (!this.#isLogged(head)) this.#faults.add(`the copy of ${node} has another state at ${head.seq} than the log`);
  }

  #isLogged(head: ShardHead): boolean {
    if (head.seq === 0) return true;
    const entry = this.#entries[head.seq - 1];
    return entry !== undefined && isSameState(entry.head, head) && entry.head.version === head.version;
  }

  #checkLog({ log, trimmedThrough, mark }: ShardRows): void {
    for (let at = Math.max(0, this.#entries.length - 3); at < this.#entries.length; at++) {
      if (log[at] !== this.#entries[at]) this.#faults.add(`the entry at ${at + 1} was replaced`);
    }
    for (let at = this.#entries.length; at < log.length; at++) this.#take(log[at], at + 1);
    if (trimmedThrough > mark) this.#faults.add(`the log is trimmed through ${trimmedThrough}, the mark is ${mark}`);
  }

  #take(entry: LogEntry | undefined, seq: number): void {
    if (entry?.seq !== seq) {
      this.#faults.add(`there is no entry at ${seq}`);
      return;
    }
    if (entry.epoch < this.#fencedEpoch)
      this.#faults.add(`entry ${seq} of epoch ${entry.epoch} came after a claim of epoch ${this.#fencedEpoch}`);
    this.#entries.push(entry);
    this.clients.committed(this.records.add(entry));
    if (!this.#model.replay(entry)) this.#faults.add(`the root of entry ${seq} is not that of its content`);
  }

  #checkRecords({ records, mark, recordChanges }: ShardRows): void {
    this.#recordChanges = recordChanges;
    const ids = new Set([...this.records.ids(), ...records.keys()]);
    for (const id of ids)
      if (!this.#isSound(id, records.get(id), mark)) this.#faults.add(this.#unsound(id, records, mark));
  }

  #isSound(id: string, row: RecordRow | undefined, mark: number): boolean {
    const value = valueOfRow(row);
    if (row === undefined || row.seq <= mark) return value === this.records.valueAt(id, mark);
    if (row.record) return this.records.isWrittenAt(id, row.seq) && this.records.valueAt(id, row.seq) === value;
    return this.records.valueAt(id, row.seq) === null;
  }

  #unsound(id: string, records: Map<string, RecordRow>, mark: number): string {
    const row = records.get(id);
    return `${id} is stored as ${valueOfRow(row)} of ${row?.seq}, but was ${this.records.valueAt(id, mark)} at ${mark}`;
  }
}

function valueOfRow(row: RecordRow | undefined): string | null {
  return row?.record ? valueIn(row.record.metadata) : null;
}
