/**
 * Contract between the test files that share services and the process that starts these services.
 * It imports almost nothing, because many files load it.
 */
import { ADMIN_TOKEN } from './tenant.ts';

/** Environment variable with the URL where test files ask for services. */
export const LENDER_VARIABLE = 'PROVEC_TEST_LENDER';

const OPERATED = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN };

/** Limits of the service `strict`, far below the API's limits. */
const STRICT_LIMITS = {
  nameMaxChars: 8,
  dimensionsMax: 4,
  idMaxBytes: 6,
  metadataMaxBytes: 40,
  metadataMaxLevels: 2,
  recordsPerUpsertMax: 3,
  idsPerRequestMax: 4,
  topKMax: 5,
  topKDefault: 2,
  bodyMaxBytes: 2_000,
  jsonMaxLevels: 12,
  shardsMax: 2,
  replicasMax: 1,
  filterMaxLevels: 2,
  filterMaxConditions: 3,
  filterMaxInValues: 4,
  collectionsPageMax: 3,
  aliasesPageMax: 2,
  keysPageMax: 2,
  accountsPageMax: 3,
  anchorsPageMax: 6,
  anchorsPageDefault: 2,
  keyNameMaxChars: 5,
  accountNameMaxChars: 7,
};
/** Requests per second of one key to the service `strict`. */
export const STRICT_RATE = 30;
export const STRICT_ORIGINS = ['https://app.example', 'http://localhost:3000'];

/** Plan limits of the service `metered`. */
export const METERED_LIMIT = { vectors: 150, writes: 200, queries: 100 };
export const METERED_PRICING_URL = 'https://pricing.example/plans';
const UNLIMITED = { vectors: -1, writes: -1, queries: -1, shards: -1, anchoring: false };

/**
 * Limits of the service `anchored`, slightly below the API's, to show that its document contains
 * them.
 */
export const ANCHORED_LIMITS = { topKMax: 9_999, recordsPerUpsertMax: 999 };

export const ENVIRONMENTS = {
  plain: { ...OPERATED, PROVEC_LEDGER: 'off' },
  /** Runs the embedded ledger. */
  anchored: { ...OPERATED, PROVEC_LIMITS: JSON.stringify(ANCHORED_LIMITS) },
  /** Without an operator, and open to pages of every origin. At most one file may write to it. */
  unmanaged: { PROVEC_LEDGER: 'off', PROVEC_CORS_ORIGINS: '*' },
  /** With every restriction that an operator can set. */
  strict: {
    ...OPERATED,
    PROVEC_LIMITS: JSON.stringify(STRICT_LIMITS),
    PROVEC_RATE_LIMIT_PER_SECOND: `${STRICT_RATE}`,
    PROVEC_CORS_ORIGINS: STRICT_ORIGINS.join(),
  },
  /** With plans that each have one small limit. */
  metered: {
    ...OPERATED,
    PROVEC_LEDGER: 'off',
    PROVEC_PRICING_URL: METERED_PRICING_URL,
    PROVEC_PLANS: JSON.stringify({
      free: { ...UNLIMITED, vectors: METERED_LIMIT.vectors },
      pro: { ...UNLIMITED, writes: METERED_LIMIT.writes },
      business: { ...UNLIMITED, queries: METERED_LIMIT.queries },
    }),
  },
} as const;
export type LentService = keyof typeof ENVIRONMENTS;

/** Description of a lent service. */
export interface LentServiceInfo {
  readonly url: string;
  /**
   * The embedded ledger, and the base58 address of the key that signs anchors; null without a
   * ledger.
   */
  readonly ledger: { readonly url: string; readonly authority: string } | null;
}
