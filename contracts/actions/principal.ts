import type { AccountId } from '../../lib/ids.ts';
import { isPlanName, type PlanName } from '../../lib/plans.ts';
import { type Caller, call } from './call.ts';

/** The account and plan that a call belongs to. The gateway sets it as `meta.principal`. */
export interface Principal {
  accountId: AccountId;
  plan: PlanName;
}

/**
 * Returns the plan from the call's principal if it is that account's, else from the keys service.
 * Throws ACCOUNT_NOT_FOUND.
 */
export async function planOf(caller: Caller, accountId: AccountId): Promise<PlanName> {
  const { principal } = (caller.meta ?? {}) as { principal?: Partial<Principal> };
  if (principal?.accountId === accountId && isPlanName(principal.plan)) return principal.plan;
  return call(caller, 'keys.plan', { accountId });
}
