import type { UsageReport } from '../../contracts/actions/metering.ts';
import { monthEnd } from '../../lib/time/month.ts';
import type { Allowance } from './allowance.ts';
import type { QueryQuota } from './query-quota.ts';

/** An account's counted usage. */
type Counted = Awaited<ReturnType<QueryQuota['read']>> & { collections: number; keys: number };

/** Combines an account's usage with the limits of its plan. */
export function usageReport(
  { month, row, uncertain, collections, keys }: Counted,
  { plan, limits }: Allowance,
  pricingUrl: string,
): UsageReport {
  return {
    month,
    plan,
    usage: {
      write_count: row.writes,
      query_count: row.queries,
      vector_count: row.vectors,
      collection_count: collections,
      key_count: keys,
    },
    limits: {
      write_count: limits.writes,
      query_count: limits.queries,
      vector_count: limits.vectors,
      collection_count: limits.collections,
      key_count: limits.keys,
    },
    query_count_uncertainty: uncertain,
    resets_at: monthEnd(month),
    pricing_url: pricingUrl,
  };
}
