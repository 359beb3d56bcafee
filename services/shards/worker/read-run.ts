import { ProvecError } from '../../../lib/errors.ts';
import type { Phase, Steps } from '../steps.ts';
import type { WorkerReply } from './protocol.ts';
import { workerFaultOf } from './worker-fault.ts';

export interface ReadSlices {
  /** Longest time a read works before other work gets a turn, in ms. */
  sliceMs: number;
  /**
   * Minimum duration of a read's first slice, in ms, however many reads its shard has. Most reads
   * take less.
   */
  firstSliceMinMs: number;
  /**
   * Maximum time on the thread, in ms; reads beyond it are refused. Building columns or the order
   * of ids does not count, because later reads benefit from it.
   */
  cpuMaxMs: number;
  /** Longest time a caller waits, in ms. */
  waitMaxMs: number;
  monotonicMs(): number;
}

/** The work of a read, and what to blame in the error if it takes too long. */
export interface ReadWork {
  steps(): Steps<unknown>;
  tooMuch: 'the search' | 'the filter' | 'the listing' | 'the update';
}

/** One read of one shard, from its arrival to its reply, executed in slices. */
export class ReadRun {
  readonly id: number;
  /** Whether it built something that outlives it, so that the shard has grown. */
  hasBuilt = false;
  /** Whether it kept records between two slices, so that they could not be compacted. */
  hasKept = false;
  /** Duration of its last slice, in ms. */
  lastSliceMs = 0;
  readonly #work: ReadWork;
  readonly #terms: ReadSlices;
  readonly #receivedMs: number;
  #steps: Steps<unknown>;
  #phase: Phase = 'building';
  #usedMs = 0;
  /** Part of its time that counts towards `cpuMaxMs`. */
  #countedMs = 0;

  constructor(id: number, work: ReadWork, terms: ReadSlices) {
    this.id = id;
    this.#work = work;
    this.#terms = terms;
    this.#receivedMs = terms.monotonicMs();
    this.#steps = work.steps();
  }

  /** Whether it has read anything that a change of the shard would invalidate. */
  get isReading(): boolean {
    return this.#phase === 'reading';
  }

  /** Works for one slice. Returns the reply if the read is finished, otherwise null. */
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
        if (value === 'building') this.hasBuilt = true;
        else this.#countedMs += monotonicMs - beforeMs;
        beforeMs = monotonicMs;
        if (monotonicMs - startedMs < sliceMs) continue;
        this.#usedMs += monotonicMs - startedMs;
        this.hasKept ||= value === 'sending';
        return this.#countedMs > cpuMaxMs ? this.refuse(this.#tooExpensive()) : null;
      }
    } catch (error) {
      return { id: this.id, fault: workerFaultOf(error) };
    }
  }

  /** Starts again at the next slice, unless it only has to send what it found. */
  restart(): void {
    if (this.#phase === 'sending') return;
    this.#steps.return(null);
    this.#steps = this.#work.steps();
    this.#phase = 'building';
  }

  /** Ends the read with 503. */
  refuse(message: string): WorkerReply {
    this.#steps.return(null);
    return { id: this.id, fault: workerFaultOf(new ProvecError('UNAVAILABLE', message)) };
  }

  #tooExpensive(): string {
    const took = `more than ${this.#terms.cpuMaxMs} ms of processor time in one shard`;
    return `The request took ${took}: ${this.#work.tooMuch} is too expensive for this many records.`;
  }
}
