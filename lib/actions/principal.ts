import { isPlanName, type PlanName } from '../plans.ts';
import { type Caller, call } from './call.ts';

/** Whose request a call belongs to, as the gateway found out: `meta.principal` of the call. */
export interface Principal {
  accountId: string;
  plan: PlanName;
}

/**
 * The account's plan: what came with the call where it belongs to a request of that account, else
 * what the keys service says. Throws ACCOUNT_NOT_FOUND.
 */
export async function planOf(caller: Caller, accountId: string): Promise<PlanName> {
  const { principal } = (caller.meta ?? {}) as { principal?: Partial<Principal> };
  if (principal?.accountId === accountId && isPlanName(principal.plan)) return principal.plan;
  return call(caller, 'keys.plan', { accountId });
}
