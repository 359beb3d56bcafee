import { randomUUID } from 'node:crypto';
import { type Clock, SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { QueryQuota } from '../../services/metering/query-quota.ts';
import type { UsageStore } from '../../store/usage.ts';

/**
 * Creates the query counter of a single node. `take` uses a plan with that limit, null for no
 * limit.
 */
export function queryCounter(usage: UsageStore, clock: Clock = SYSTEM_CLOCK) {
  const node = randomUUID();
  const quota = new QueryQuota({ usage, clock, pricingUrl: '', node, isOurs: () => true, recall: async () => {} });
  const take = (accountId: string, queries: number | null): Promise<unknown> => {
    const limits = {
      queries,
      writes: null,
      vectors: null,
      collections: null,
      keys: 10_000,
      shards: null,
      anchoring: false,
    };
    return quota.take(accountId, { plan: 'free', limits });
  };
  return { quota, take };
}
