import type { Steps } from '../steps.ts';
import type { WorkerReply } from './protocol.ts';
import { workerFaultOf } from './worker-fault.ts';

/** One request from its arrival to its reply, executed in slices. */
export class StepRun<R> {
  readonly id: number;
  /** Total time of its slices, in ms. */
  tookMs = 0;
  isEnded = false;
  readonly #steps: Steps<R>;
  readonly #monotonicMs: () => number;

  constructor(id: number, steps: Steps<R>, monotonicMs: () => number) {
    this.id = id;
    this.#steps = steps;
    this.#monotonicMs = monotonicMs;
  }

  /** Ends the work without a reply. */
  end(): void {
    this.isEnded = true;
    this.#steps.return(undefined as R);
  }

  /**
   * Works for one slice. Returns the reply and its result if the request is finished, otherwise
   * null.
   */
  slice(sliceMs: number): { reply: WorkerReply; result?: R } | null {
    const startedMs = this.#monotonicMs();
    const beforeMs = this.tookMs;
    try {
      for (;;) {
        const { done, value } = this.#steps.next();
        const sinceMs = this.#monotonicMs() - startedMs;
        this.tookMs = beforeMs + sinceMs;
        if (done) return { reply: { id: this.id, result: value, tookMs: this.tookMs }, result: value };
        if (sinceMs >= sliceMs) return null;
      }
    } catch (error) {
      return { reply: { id: this.id, fault: workerFaultOf(error) } };
    }
  }
}
