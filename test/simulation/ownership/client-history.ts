import type { Faults } from './faults.ts';
import type { RecordHistory } from './record-history.ts';

/** One request of a client, from when it was sent. */
export interface Request {
  kind: 'read' | 'write' | 'delete';
  id: string;
  /** What a write writes. */
  value: string | null;
  /** No operation that was answered before this one was sent has its place later in the log. */
  floor: number;
  /**
   * What writes to the same record bring that were on their way at the same time: such a one may
   * share an entry with this one and come after it there.
   */
  rivals: Set<string | null>;
}

/**
 * What clients were told, held against the log, which orders all commits of a shard: linearizable
 * means that every operation has a place in the log no earlier than any operation that was answered
 * before it was sent, and no later than where the log ended when it was answered. Since the
 * earliest place that fits is taken, what comes later is never judged too hard.
 */
export class ClientHistory {
  readonly #records: RecordHistory;
  readonly #faults: Faults;
  /** Writes that are not answered, by record. */
  readonly #open = new Map<string, Set<Request>>();
  readonly #refused = new Set<string>();
  readonly #written = new Set<string>();
  #floor = 0;
  #size = 0;

  /** Adds a sentence to `faults` for everything that cannot be. */
  constructor(records: RecordHistory, faults: Faults) {
    this.#records = records;
    this.#faults = faults;
  }

  /** Answered requests. */
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

  /** It was refused in words that say that nothing of it is or will be there. */
  refused(request: Request): void {
    this.#open.get(request.id)?.delete(request);
    if (request.kind !== 'write') return;
    this.#refused.add(request.value!);
    if (this.#written.has(request.value!)) this.#faults.add(`${request.value} was refused, and was there before`);
  }

  /** Values, each of one request, that an entry has brought. */
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
