import type { Clock } from '../../../lib/time/clock.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { Timeline } from '../../support/timeline.ts';

/** Number of events after which the process handles work outside the simulation. */
const EVENTS_PER_BREATH = 2_000;

/**
 * One timeline for the whole simulation. Events run in the order of their times, each followed
 * immediately by its consequences.
 */
export class VirtualTime extends Timeline {
  delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /**
   * Runs all events due by `untilMs`, or until `stop` returns true. Calls `onStep` after each event
   * and its consequences.
   */
  async run(untilMs: number, onStep: () => void = () => undefined, stop: () => boolean = () => false): Promise<void> {
    await settled();
    for (let count = 1; !stop(); count++) {
      const event = this.next(untilMs);
      if (event === null) break;
      event.run();
      await settled();
      onStep();
      if (count % EVENTS_PER_BREATH === 0) await new Promise(setImmediate);
    }
    if (!stop()) this.nowMs = Math.max(this.nowMs, untilMs);
  }
}

/**
 * The time of one node. Its clock has its own rate and origin; while it is paused, nothing reaches
 * the node.
 */
export class NodeTime implements Clock, Timers {
  readonly rate: number;
  readonly #time: VirtualTime;
  readonly #originMs: number;
  #paused = false;
  #held: (() => void)[] = [];

  constructor(time: VirtualTime, rate: number, originMs: number) {
    this.#time = time;
    this.rate = rate;
    this.#originMs = originMs;
  }

  monotonicMs(): number {
    return this.#originMs + this.#time.nowMs * this.rate;
  }

  wallMs(): number {
    return 1_700_000_000_000 + this.monotonicMs();
  }

  after(ms: number, run: () => void): () => void {
    let live = true;
    const cancel = this.#time.after(ms / this.rate, () => this.arrive(() => live && run()));
    return () => {
      live = false;
      cancel();
    };
  }

  /** Delivers `run` to the node now, or when the node resumes. */
  arrive(run: () => void): void {
    if (this.#paused) this.#held.push(run);
    else run();
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    for (const run of this.#held.splice(0)) this.#time.after(0, () => this.arrive(run));
  }
}

/** Resolves when all promise callbacks are done: ticks run after them. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
