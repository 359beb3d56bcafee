import type { PlanLimits, PlanName } from '../../lib/plans.ts';

/** An account's plan and its limits. */
export interface Allowance {
  plan: PlanName;
  limits: Readonly<PlanLimits>;
}

/** Whether `more` on top of `used` exceeds a limit. A `more` of 0 never does. */
export function passes(limit: number | null, used: number, more: number): boolean {
  return limit !== null && more > 0 && used + more > limit;
}
