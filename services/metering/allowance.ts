import type { PlanLimits, PlanName } from '../../lib/plans.ts';

/** What an account may use: its plan and the plan's limits. */
export interface Allowance {
  plan: PlanName;
  limits: Readonly<PlanLimits>;
}

/**
 * Whether `more` on top of `used` passes a limit. Nothing more never does, not even above a limit
 * that a change of plan lowered.
 */
export function passes(limit: number | null, used: number, more: number): boolean {
  return limit !== null && more > 0 && used + more > limit;
}
