import { pino } from 'pino';
import { type Clock, SYSTEM_CLOCK } from '../../lib/runtime.ts';
import type { UsageStore } from '../../lib/store/usage.ts';
import { BlockUses } from '../../services/metering/block-uses.ts';
import { QueryQuota } from '../../services/metering/query-quota.ts';

/**
 * What counts queries at a node that hears of no other, with its journal in `folder`; `take` has a
 * plan with that limit, null for none.
 */
export async function startQueryCounter(usage: UsageStore, folder: string, clock: Clock = SYSTEM_CLOCK) {
  const uses = new BlockUses({ folder, usage, clock, log: pino({ level: 'silent' }) });
  await uses.start();
  const quota = new QueryQuota({
    usage,
    uses,
    clock,
    pricingUrl: '',
    node: `counter-${process.pid}`,
    recall: async () => {},
    usesElsewhere: async () => [],
  });
  const take = (accountId: string, queries: number | null): Promise<unknown> => {
    const limits = { queries, writes: null, vectors: null, collections: null, keys: null, anchoring: false };
    return quota.take(accountId, { plan: 'free', limits });
  };
  const end = async (): Promise<void> => {
    await quota.close();
    uses.close();
  };
  return { uses, quota, take, end };
}
