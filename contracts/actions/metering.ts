import type { AccountId } from '../../lib/ids.ts';
import type { PlanName } from '../../lib/plans.ts';

interface UsageCounts {
  write_count: number;
  query_count: number;
  vector_count: number;
  collection_count: number;
  key_count: number;
}

export interface UsageReport {
  month: string;
  plan: PlanName;
  usage: UsageCounts;
  limits: { [name in keyof UsageCounts]: number | null };
  /**
   * Maximum number of counted queries that may not have happened, because an instance reserved them
   * and did not return them. 0 unless an instance failed.
   */
  query_count_uncertainty: number;
  /** ISO 8601 UTC. */
  resets_at: string;
  pricing_url: string;
}

/** Actions of the instance responsible for the account; the others forward calls to it. */
export interface RoutedActions {
  'metering.usage': { params: { accountId: AccountId }; result: UsageReport };
  /**
   * Reserves room for a write until `metering.settle`. Without a `ticket`, `vectors` (records in
   * the request) is an upper bound, and so is `writes` if `writesMin` (default: `writes`) is lower.
   * Answers `count` when only the upper bounds do not fit: the caller then counts the new ids and
   * the changed records, and calls again with exact numbers and the `ticket`, which gives it
   * exclusive use of the account's quota. Throws PLAN_LIMIT_REACHED. A null `id` means that the
   * plan has no limit and there is nothing to settle. Forwarded calls carry the reservation's `id`.
   */
  'metering.reserveWrite': {
    params: {
      accountId: AccountId;
      writes: number;
      writesMin?: number;
      vectors: number;
      ticket?: string;
      id?: string;
    };
    result: { outcome: 'reserved'; id: string | null } | { outcome: 'count'; ticket: string };
  };
  /** Keeps a reservation from expiring during its write. Does nothing if it has ended. */
  'metering.renew': { params: { accountId: AccountId; id: string }; result: null };
  /**
   * Ends a reservation or gives up a ticket, after the store has counted the write; the write must
   * not commit anything more. Idempotent.
   */
  'metering.settle': { params: { accountId: AccountId; id: string }; result: null };
  /** Counts `count` queries (default: 1), or none; throws PLAN_LIMIT_REACHED. */
  'metering.takeQuery': { params: { accountId: AccountId; count?: number }; result: { month: string } };
}

export interface UsageDayView {
  /** UTC day, `YYYY-MM-DD`. */
  day: string;
  write_count: number;
  query_count: number;
}

export interface MeteringActions extends RoutedActions {
  /** Returns the newest `days` days, oldest first. Throws ACCOUNT_NOT_FOUND. */
  'metering.usageDays': { params: { accountId: AccountId; days: number }; result: { days: UsageDayView[] } };
  /**
   * Carries out a call forwarded by another instance, whichever instance is responsible. Older
   * versions lack this action, so they are never chosen as responsible.
   */
  'metering.forwarded': {
    params: { action: keyof RoutedActions; params: RoutedActions[keyof RoutedActions]['params'] };
    result: RoutedActions[keyof RoutedActions]['result'];
  };
  /** Makes the called instance return unused reserved queries and store all usage. */
  'metering.yieldQueries': { params: { accountId: AccountId }; result: null };
  /** Returns queries that failed; they cost nothing. */
  'metering.giveBackQuery': { params: { accountId: AccountId; month: string; count?: number }; result: null };
  /** Throws PLAN_LIMIT_REACHED. `requested` is the number of shards of a new collection. */
  'metering.refuse': {
    params: { accountId: AccountId; limit: 'collections' | 'keys' | 'shards'; requested?: number };
    result: never;
  };
}
