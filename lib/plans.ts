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

/** Plans that every service has. */
export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type BuiltInPlan = (typeof PLAN_NAMES)[number];

/** Name of a plan: a built-in one, or one that the operator made. */
export type PlanName = string;

/** Maximum number of the operator's plans. */
export const STORED_PLANS_MAX = 100;

/** Form of a plan's name. */
export const PLAN_NAME_PATTERN = '^[a-z0-9][a-z0-9_-]{0,39}$';
const PLAN_NAME = new RegExp(PLAN_NAME_PATTERN);

/** Whether a value has the form of a plan's name. */
export const isPlanName = (name: unknown): name is PlanName => typeof name === 'string' && PLAN_NAME.test(name);

export const isBuiltInPlan = (name: PlanName): name is BuiltInPlan => (PLAN_NAMES as readonly string[]).includes(name);

export type Plans = Readonly<Record<BuiltInPlan, Readonly<PlanLimits>>>;

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

const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;
const isLimit = (value: unknown): value is number | null =>
  value === null || isWithin(value, 0, Number.MAX_SAFE_INTEGER);

/** Returns limits as the store keeps them: JSON with the fields in a fixed order. */
export function planLimitsText({
  vectors,
  writes,
  queries,
  collections,
  keys,
  shards,
  anchoring,
}: Readonly<PlanLimits>): string {
  return JSON.stringify({ vectors, writes, queries, collections, keys, shards, anchoring });
}

/** Returns a deleted plan as the store keeps it: `planLimitsText` with a mark. */
export function deletedPlanText(limits: Readonly<PlanLimits>): string {
  return JSON.stringify({ ...JSON.parse(planLimitsText(limits)), isDeleted: true });
}

/** Limits as the store keeps them. */
export interface StoredLimits {
  limits: PlanLimits;
  /** Whether no account can get the plan any more. */
  isDeleted: boolean;
}

/** Reads what `planLimitsText` or `deletedPlanText` wrote; null for anything else. */
export function readStoredLimits(text: unknown): StoredLimits | null {
  try {
    const { vectors, writes, queries, collections, keys, shards, anchoring, isDeleted = false } = JSON.parse(`${text}`);
    const areLimits = [vectors, writes, queries, collections, shards].every(isLimit);
    if (
      !areLimits ||
      !isWithin(keys, 0, KEYS_MAX) ||
      ![anchoring, isDeleted].every((flag) => typeof flag === 'boolean')
    )
      return null;
    return { limits: { vectors, writes, queries, collections, keys, shards, anchoring }, isDeleted };
  } catch {
    return null;
  }
}

/** Returns the limits of a plan in the store, deleted or not; null if the text is no plan's. */
export const readPlanLimits = (text: unknown): PlanLimits | null => readStoredLimits(text)?.limits ?? null;
