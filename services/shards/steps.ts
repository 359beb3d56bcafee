/**
 * Long work split into steps, so that the caller decides when it continues. Each yielded phase
 * tells what a change of the shard before the next step would cost:
 *
 * - `reading`: the read begins again, and may take longer than on the newest state.
 * - `building` (columns and the order of ids): the same, but what was built stays for later reads.
 * - `sending`: nothing.
 * - `staging`: no change is allowed but the staged work itself.
 */
export type Phase = 'building' | 'reading' | 'sending' | 'staging';

export type Steps<T> = Generator<Phase, T, void>;

/** Default duration of a step, in nanoseconds. */
export const STEP_NS = 250_000;

const NONE: readonly Phase[] = [];

/** Returns work that is done in one step. */
export function* oneStep<T>(work: () => T): Steps<T> {
  yield* NONE;
  return work();
}

/** Runs all steps without a pause. */
export function runThrough<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Measures when a step is long enough, from estimated costs in nanoseconds, which is cheaper than
 * reading the clock.
 */
export class StepMeter {
  readonly stepNs: number;
  spentNs = 0;

  constructor(stepNs: number) {
    this.stepNs = stepNs;
  }

  /** Returns true once per step's worth of work. */
  due(): boolean {
    if (this.spentNs < this.stepNs) return false;
    this.spentNs = 0;
    return true;
  }
}
