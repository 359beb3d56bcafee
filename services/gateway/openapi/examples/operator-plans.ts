import type { Example } from './example.ts';

const ACME_LIMITS = {
  vectors: 2_000_000,
  writes: null,
  queries: 10_000_000,
  collections: 100,
  keys: 50,
  shards: 32,
  anchoring: true,
};

/** Examples of the operator's operations on plans. */
export const OPERATOR_PLANS: readonly Example[] = [
  {
    operation: 'putPlan',
    summary: 'A plan for one customer',
    path: { plan: 'acme' },
    body: ACME_LIMITS,
    answer: { plan: { name: 'acme', ...ACME_LIMITS, source: 'stored' } },
  },
  {
    operation: 'deletePlan',
    summary: 'A plan that no account has',
    path: { plan: 'acme' },
    answer: { deleted: true },
  },
];
