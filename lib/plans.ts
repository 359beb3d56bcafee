/** Maximum number of keys per account in every plan. */
export const KEYS_MAX = 10_000;

/** Limits per account; null = none. Writes and queries count per UTC month, others in total. */
export interface PlanLimits {
  vectors: number | null;
  writes: number | null;
  queries: number | null;
  collections: number | null;
  /** At most KEYS_MAX. */
  keys: number;
  /** Maximum shards of a new collection; existing ones with more keep them. */
  shards: number | null;
  anchoring: boolean;
}

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** Whether a name received from another node is a plan. */
export const isPlanName = (name: unknown): name is PlanName => (PLAN_NAMES as readonly unknown[]).includes(name);

export type Plans = Readonly<Record<PlanName, Readonly<PlanLimits>>>;

export const DEFAULT_PLANS: Plans = Object.freeze({
  free: Object.freeze({
    vectors: 5_000,
    writes: 1_000,
    queries: 10_000,
    collections: 2,
    keys: 2,
    shards: 4,
    anchoring: false,
  }),
  pro: Object.freeze({
    vectors: 500_000,
    writes: 50_000,
    queries: 500_000,
    collections: 25,
    keys: 5,
    shards: 16,
    anchoring: true,
  }),
  business: Object.freeze({
    vectors: 5_000_000,
    writes: 500_000,
    queries: 5_000_000,
    collections: null,
    keys: KEYS_MAX,
    shards: null,
    anchoring: true,
  }),
  enterprise: Object.freeze({
    vectors: null,
    writes: null,
    queries: null,
    collections: null,
    keys: KEYS_MAX,
    shards: null,
    anchoring: true,
  }),
});
