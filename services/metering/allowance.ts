import type { PlanLimits, PlanName } from '../../lib/plans.ts';

/** An account's plan and its limits. */
export interface Allowance {
  plan: PlanName;
  limits: Readonly<PlanLimits>;
}

/**
 * Whether `more` on top of `used` exceeds a limit. False for a `more` of 0, even if `used` is above
 * a limit that was lowered.
 */
export function passes(limit: number | null, used: number, more: number): boolean {
  return limit !== null && more > 0 && used + more > limit;
}
