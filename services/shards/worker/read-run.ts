import { ProvecError } from '../../../lib/errors.ts';
import type { Phase, Steps } from '../engine/steps.ts';
import type { WorkerReply } from './protocol.ts';
import { faultOf } from './worker-fault.ts';

export interface ReadTerms {
  /** How long a read works before it is others' turn. */
  sliceMs: number;
  /**
   * How long it works at least when it arrives, however many there are on its shard: longer than
   * most reads take.
   */
  firstSliceMinMs: number;
  /**
   * Reading beyond this much of the thread's time is refused. Building columns or the order of ids
   * is not counted: reads to come have them too.
   */
  cpuMaxMs: number;
  /** No caller waits longer than this. */
  waitMaxMs: number;
  monotonicMs(): number;
}

/** What a read does, and what its caller is told was too much where it takes too long. */
export interface ReadWork {
  /** Begins it. */
  steps(): Steps<unknown>;
  tooMuch: 'the search' | 'the filter' | 'the listing';
}

/** One read of one shard, from its arrival to its reply, worked on in slices. */
export class ReadRun {
  /** That of its request. */
  readonly id: number;
  /** Whether it had something built that stays, so that the shard has grown. */
  hasBuilt = false;
  /** What its last slice took. */
  lastSliceMs = 0;
  readonly #work: ReadWork;
  readonly #terms: ReadTerms;
  readonly #receivedMs: number;
  #steps: Steps<unknown>;
  #phase: Phase = 'building';
  #usedMs = 0;
  #readingMs = 0;

  constructor(id: number, work: ReadWork, terms: ReadTerms) {
    this.id = id;
    this.#work = work;
    this.#terms = terms;
    this.#receivedMs = terms.monotonicMs();
    this.#steps = work.steps();
  }

  /** Whether it has read what a change of the shard would make untrue. */
  get isReading(): boolean {
    return this.#phase === 'reading';
  }

  /** Works for one slice. The reply where that ended the read, else null. */
  slice(sliceMs: number): WorkerReply | null {
    const startedMs = this.#terms.monotonicMs();
    const { cpuMaxMs, waitMaxMs } = this.#terms;
    if (startedMs - this.#receivedMs > waitMaxMs) return this.refuse('The shard did not answer in time.');
    try {
      for (let beforeMs = startedMs; ; ) {
        const { done, value } = this.#steps.next();
        const monotonicMs = this.#terms.monotonicMs();
        this.lastSliceMs = monotonicMs - startedMs;
        if (done) return { id: this.id, result: value, tookMs: this.#usedMs + monotonicMs - startedMs };
        this.#phase = value;
        if (this.isReading) this.#readingMs += monotonicMs - beforeMs;
        else if (value === 'building') this.hasBuilt = true;
        beforeMs = monotonicMs;
        if (monotonicMs - startedMs < sliceMs) continue;
        this.#usedMs += monotonicMs - startedMs;
        return this.#readingMs > cpuMaxMs ? this.refuse(this.#tooExpensive()) : null;
      }
    } catch (error) {
      return { id: this.id, fault: faultOf(error) };
    }
  }

  /** Begins anew, the shard having changed since the last slice. */
  restart(): void {
    this.#steps.return(null);
    this.#steps = this.#work.steps();
    this.#phase = 'building';
  }

  /** Ends the read with 503. */
  refuse(message: string): WorkerReply {
    this.#steps.return(null);
    return { id: this.id, fault: faultOf(new ProvecError('UNAVAILABLE', message)) };
  }

  #tooExpensive(): string {
    const took = `more than ${this.#terms.cpuMaxMs} ms of processor time in one shard`;
    return `The request took ${took}: ${this.#work.tooMuch} is too expensive for this many records.`;
  }
}
