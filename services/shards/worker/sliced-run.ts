import { ProvecError } from '../../../lib/errors.ts';
import type { Phase, Steps } from '../steps.ts';
import type { WorkerReply } from './protocol.ts';
import { workerFaultOf } from './worker-fault.ts';

export interface RunLimits {
  /**
   * Maximum time on the thread, in ms; runs beyond it are refused. Building columns or the order of
   * ids does not count, because later reads benefit from it.
   */
  cpuMaxMs: number;
  /** Longest time a caller waits, in ms. */
  waitMaxMs: number;
  /** What to blame in the error if it takes too long. */
  tooMuch: string;
}

const UNLIMITED: RunLimits = {
  cpuMaxMs: Number.POSITIVE_INFINITY,
  waitMaxMs: Number.POSITIVE_INFINITY,
  tooMuch: '',
};

/** One request from its arrival to its reply, executed in slices. */
export class SlicedRun<R = unknown> {
  readonly id: number;
  isEnded = false;
  /** Whether it built something that outlives it, so that the shard has grown. */
  hasBuilt = false;
  /** Whether it kept records between two slices, so that they could not be compacted. */
  hasKept = false;
  /** Duration of its last slice, in ms. */
  lastSliceMs = 0;
  /** Total duration of its slices, in ms. */
  tookMs = 0;
  readonly #begin: () => Steps<R>;
  readonly #monotonicMs: () => number;
  readonly #limits: RunLimits;
  readonly #receivedMs: number;
  #steps: Steps<R>;
  #phase: Phase = 'building';
  /** Part of its time that counts towards `cpuMaxMs`. */
  #countedMs = 0;

  /** `begin` starts the work, also when it starts again. */
  constructor(id: number, begin: () => Steps<R>, monotonicMs: () => number, limits: RunLimits = UNLIMITED) {
    this.id = id;
    this.#begin = begin;
    this.#monotonicMs = monotonicMs;
    this.#limits = limits;
    this.#receivedMs = monotonicMs();
    this.#steps = begin();
  }

  /** Whether it has read anything that a change of the shard would invalidate. */
  get isReading(): boolean {
    return this.#phase === 'reading';
  }

  /** Works for one slice. Returns the reply if the request is finished, otherwise null. */
  slice(sliceMs: number): WorkerReply<R> | null {
    const startedMs = this.#monotonicMs();
    const { tookMs: usedMs } = this;
    const { cpuMaxMs, waitMaxMs } = this.#limits;
    if (startedMs - this.#receivedMs > waitMaxMs) return this.refuse('The shard did not answer in time.');
    try {
      for (let beforeMs = startedMs; ; ) {
        const { done, value } = this.#steps.next();
        const monotonicMs = this.#monotonicMs();
        this.lastSliceMs = monotonicMs - startedMs;
        this.tookMs = usedMs + this.lastSliceMs;
        if (done) return { id: this.id, result: value, tookMs: this.tookMs };
        this.#phase = value;
        if (value === 'building') this.hasBuilt = true;
        else this.#countedMs += monotonicMs - beforeMs;
        beforeMs = monotonicMs;
        if (this.lastSliceMs < sliceMs) continue;
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
    this.#steps.return(undefined as R);
    this.#steps = this.#begin();
    this.#phase = 'building';
  }

  /** Ends the work and returns a reply with 503. */
  refuse(message: string): WorkerReply<R> {
    this.isEnded = true;
    this.#steps.return(undefined as R);
    return { id: this.id, fault: workerFaultOf(new ProvecError('UNAVAILABLE', message)) };
  }

  #tooExpensive(): string {
    const { cpuMaxMs, tooMuch } = this.#limits;
    const took = `more than ${cpuMaxMs} ms of processor time in one shard`;
    return `The request took ${took}: ${tooMuch} is too expensive for this many records.`;
  }
}
