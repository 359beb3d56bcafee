import type { RecordHistory } from './record-history.ts';
import type { Faults } from './violations.ts';

/** A client's request, from the moment that it was sent. */
export interface Request {
  kind: 'read' | 'write' | 'delete';
  id: string;
  /** The value of a write. */
  value: string | null;
  /** The last place in the log of any operation that was answered before this one was sent. */
  floor: number;
  /**
   * Values of concurrent writes to the same record. Such a write may share a log entry with this
   * one and come after it there.
   */
  rivals: Set<string | null>;
}

/**
 * Checks what clients were told against the log, which orders all commits of a shard. Linearizable
 * means that every operation has a place in the log that is not before that of any operation
 * answered before it was sent, and not after the end of the log when it was answered. Choosing the
 * earliest possible place never makes later operations fail wrongly.
 */
export class ClientHistory {
  readonly #records: RecordHistory;
  readonly #faults: Faults;
  /** Unanswered writes, by record. */
  readonly #open = new Map<string, Set<Request>>();
  readonly #refused = new Set<string>();
  readonly #written = new Set<string>();
  #floor = 0;
  #size = 0;

  /** Adds a sentence to `faults` for each violation. */
  constructor(records: RecordHistory, faults: Faults) {
    this.#records = records;
    this.#faults = faults;
  }

  /** Number of answered requests. */
  get size(): number {
    return this.#size;
  }

  send(kind: Request['kind'], id: string, value: string | null): Request {
    const request: Request = { kind, id, value, floor: this.#floor, rivals: new Set() };
    if (kind === 'read') return request;
    const open = this.#open.get(id) ?? new Set();
    for (const other of open) {
      other.rivals.add(value);
      request.rivals.add(other.value);
    }
    this.#open.set(id, open.add(request));
    return request;
  }

  answered(request: Request, value: string | null, seq: number | null): void {
    const { kind, id, floor } = request;
    this.#size++;
    const place = seq === null ? this.#placeOfRead(request, value) : this.#placeOfWrite(request, seq);
    if (place === null) {
      const end = this.#records.length;
      this.#faults.add(`${kind} of ${id} gave ${value} at ${seq}, which it was nowhere from ${floor} to ${end}`);
      return;
    }
    this.#floor = Math.max(this.#floor, place);
  }

  /** The request was refused in a way that guarantees that it has no effect now or later. */
  refused(request: Request): void {
    this.#open.get(request.id)?.delete(request);
    if (request.kind !== 'write') return;
    this.#refused.add(request.value!);
    if (this.#written.has(request.value!)) this.#faults.add(`${request.value} was refused, and was there before`);
  }

  /** Values that an entry has committed, one per request. */
  committed(values: string[]): void {
    for (const value of values) {
      if (this.#refused.has(value)) this.#faults.add(`${value} was refused, and is there`);
      if (this.#written.has(value)) this.#faults.add(`${value} was written twice`);
      this.#written.add(value);
    }
  }

  #placeOfRead({ id, floor }: Request, value: string | null): number | null {
    return this.#records.firstWith(id, value, floor, this.#records.length);
  }

  #placeOfWrite(request: Request, seq: number): number | null {
    const { id, value, floor, rivals } = request;
    this.#open.get(id)?.delete(request);
    if (seq < floor || seq > this.#records.length) return null;
    const there = this.#records.valueAt(id, seq);
    return there === value || rivals.has(there) ? seq : null;
  }
}
