import { Timeline } from '../../support/timeline.ts';

/** Virtual time for millions of events, without promises. */
export class EventQueue extends Timeline {
  #ran = 0;

  /** Number of events that have run. */
  get ran(): number {
    return this.#ran;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  run(untilMs: number): void {
    for (let event = this.next(untilMs); event !== null; event = this.next(untilMs)) {
      this.#ran++;
      event.run();
    }
    this.nowMs = untilMs;
  }
}
