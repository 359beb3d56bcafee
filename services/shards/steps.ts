/**
 * Long work split into steps, so that the caller decides when it continues. Each yielded phase
 * tells what may change before the next step:
 *
 * - `reading`: no record may be added, changed, deleted or moved.
 * - `staging`: only the staged work itself may change the shard.
 * - `building` (columns and the order of ids) and `sending`: anything may change.
 */
export type Phase = 'building' | 'reading' | 'sending' | 'staging';

export type Steps<T> = Generator<Phase, T, void>;

/** Default duration of a step, in nanoseconds. */
export const STEP_NS = 250_000;

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
