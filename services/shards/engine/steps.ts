/**
 * Long work cut into steps, so that whoever runs it decides when it goes on. What is yielded says
 * what the work stands on: `reading` must not be followed by a change of what records there are or
 * where they lie, `staging` by none that is not its own, `building` (of columns and of the order of
 * ids) and `sending` may be followed by any.
 */
export type Phase = 'building' | 'reading' | 'sending' | 'staging';

export type Steps<T> = Generator<Phase, T, void>;

/** A step is about this long where nothing else is said. */
export const STEP_NS = 250_000;

/** Runs all steps one after the other. */
export function runThrough<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Says when a step has been long enough: work is noted in nanoseconds by estimate, which costs less
 * than a look at the clock.
 */
export class StepMeter {
  readonly stepNs: number;
  spentNs = 0;

  constructor(stepNs: number) {
    this.stepNs = stepNs;
  }

  /** True once for each step's worth of work. */
  due(): boolean {
    if (this.spentNs < this.stepNs) return false;
    this.spentNs = 0;
    return true;
  }
}
