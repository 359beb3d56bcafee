import type { AccountId } from '../../lib/ids.ts';
import type { PlanLimits, PlanName } from '../../lib/plans.ts';
import type { Scope } from '../../store/keys.ts';
import type { AuditEntriesPage } from './audit.ts';
import type { UsageReport } from './metering.ts';

/** The authenticated caller of a request. */
export interface Identity {
  accountId: AccountId;
  keyId: string;
  scopes: Scope[];
  plan: PlanName;
}

/** A key as clients see it; `secret` is set only in the response to its creation. */
export interface KeyView {
  id: string;
  name: string;
  key_prefix: string;
  scopes: Scope[];
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked: boolean;
  secret?: string;
}

export interface AccountView {
  id: AccountId;
  name: string;
  plan: PlanName;
  created_at: string;
  /** Only in the operator's answers that include it. */
  usage?: UsageReport;
}

/** A plan with its limits per account; null means none. */
export interface PlanView extends PlanLimits {
  name: PlanName;
  /** `stored`: by the operator. `environment`: PROVEC_PLANS. */
  source: 'stored' | 'environment' | 'built-in';
}

/** Event `keys.planChanged`, broadcast after a plan got other limits. */
export interface PlanChanged {
  plan: PlanName;
}

/**
 * Event `keys.changed`, broadcast after a key was revoked, a plan was set or an account was
 * deleted. Receivers drop what they have cached of the account.
 */
export interface KeysChanged {
  accountId: AccountId;
  what: 'key' | 'plan' | 'account';
}

/** Newest first; `nextCursor` is set if there are more. */
export interface KeysPage {
  keys: KeyView[];
  nextCursor?: string;
}

/** Oldest first; `nextCursor` is set if there are more. */
export interface AccountsPage {
  accounts: AccountView[];
  nextCursor?: string;
}

export interface KeysActions {
  /** Throws UNAUTHENTICATED, with the same message for unknown, revoked and expired keys. */
  'keys.authenticate': { params: { secret: string }; result: Identity };
  'keys.page': { params: { accountId: AccountId; limit: number; cursor?: string }; result: KeysPage };
  'keys.create': {
    params: { accountId: AccountId; name: string; scopes?: Scope[]; expires_at?: string | null };
    result: KeyView;
  };
  'keys.revoke': { params: { accountId: AccountId; id: string }; result: { revoked: true } };
  /** Returns the account's cached plan; plan changes invalidate it. Throws ACCOUNT_NOT_FOUND. */
  'keys.plan': { params: { accountId: AccountId }; result: PlanName };
  /** Returns every plan with its limits, built-in ones first, others by name. */
  'keys.plans': { params: Record<string, never>; result: { plans: PlanView[] } };
  /** Creates a plan, or changes its limits. Throws PLANS_LIMIT_REACHED. */
  'keys.putPlan': { params: PlanLimits & { plan: PlanName }; result: PlanView };
  /**
   * Deletes a stored plan; a built-in one gets its configured limits back. Throws PLAN_NOT_FOUND,
   * and PLAN_IN_USE while an account has a plan that is not built in.
   */
  'keys.deletePlan': { params: { plan: PlanName }; result: { deleted: true } };
  'keys.createAccount': { params: { name: string; plan: PlanName }; result: { account: AccountView; key: KeyView } };
  'keys.accountsPage': { params: { limit: number; cursor?: string }; result: AccountsPage };
  /** Throws ACCOUNT_NOT_FOUND. */
  'keys.account': { params: { id: AccountId }; result: AccountView };
  'keys.setPlan': { params: { id: AccountId; plan: PlanName }; result: AccountView };
  /** Drops the account's collections, keys and usage. */
  'keys.deleteAccount': { params: { id: AccountId }; result: { deleted: true } };
  /** Returns entries of a trail, the operator's or an account's, after the position `after`. */
  'keys.auditPage': { params: { trail: string; after: number; limit: number }; result: AuditEntriesPage };
}
