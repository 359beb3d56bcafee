import type { PlanName } from '../plans.ts';

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
   * Of `usage.query_count`, how many may not have been made: an instance took them beforehand and
   * does not give them back. 0 but after a failure.
   */
  query_count_uncertainty: number;
  /** ISO 8601 UTC. */
  resets_at: string;
  pricing_url: string;
}

/** What the instance in charge of the account does, whichever is asked. */
export interface ChargedActions {
  'metering.usage': { params: { accountId: string }; result: UsageReport };
  /**
   * Holds room for a write until `metering.settle`. Unless there is a `ticket`, `vectors` is an
   * upper bound (records in the request), and so is `writes` where `writesMin` (default: `writes`)
   * is less. Answers 'count' when only the upper bounds do not fit: the caller then counts the ids
   * that are new and the records that change, and asks again with these numbers and the `ticket` it
   * was given, under which it is alone with the account. Throws PLAN_LIMIT_REACHED. `id` null: the
   * plan has no limit and there is nothing to settle. An `id` for the room comes with what is
   * forwarded.
   */
  'metering.reserveWrite': {
    params: {
      accountId: string;
      writes: number;
      writesMin?: number;
      vectors: number;
      ticket?: string;
      id?: string;
    };
    result: { outcome: 'reserved'; id: string | null } | { outcome: 'count'; ticket: string };
  };
  /**
   * Keeps a reservation from running out while its write is under way. Nothing happens when it has
   * ended.
   */
  'metering.renew': { params: { accountId: string; id: string }; result: null };
  /**
   * Ends a reservation whose write has ended, or gives up a ticket: what was committed is counted
   * in the store, and nothing of it may be committed later. Idempotent.
   */
  'metering.settle': { params: { accountId: string; id: string }; result: null };
  /** Counts so many queries (1 where nothing is said), or none; throws PLAN_LIMIT_REACHED. */
  'metering.takeQuery': { params: { accountId: string; count?: number }; result: { month: string } };
}

export interface MeteringActions extends ChargedActions {
  /**
   * Asked of one instance by another: carry this out, whoever is in charge. Instances of a former
   * version do not have it, so that they are in charge of nothing.
   */
  'metering.forwarded': {
    params: { action: keyof ChargedActions; params: ChargedActions[keyof ChargedActions]['params'] };
    result: ChargedActions[keyof ChargedActions]['result'];
  };
  /**
   * Asked of one instance by another: give back the queries that you took beforehand and have not
   * used, and write what is not written yet.
   */
  'metering.yieldQueries': { params: { accountId: string }; result: null };
  /** Queries that failed cost nothing. */
  'metering.giveBackQuery': { params: { accountId: string; month: string; count?: number }; result: null };
  /** The error to throw when the store answered 'limit'. Always throws PLAN_LIMIT_REACHED. */
  /** Throws PLAN_LIMIT_REACHED; `requested`: of the shards of a collection. */
  'metering.refuse': {
    params: { accountId: string; limit: 'collections' | 'keys' | 'shards'; requested?: number };
    result: never;
  };
}
