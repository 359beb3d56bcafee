import { invalidArgument } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { isPlanName, KEYS_MAX, PLAN_NAME_PATTERN, PLAN_NAMES, type PlanName } from '../../lib/plans.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { SCOPES } from '../../store/keys.ts';
import { choiceField, choicesField, type Field, flagField, integerField, label, optionalField } from './field.ts';
import { RequestKind } from './request.ts';

const TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,9})?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const LEAP_SECOND = /^(.{16}):60/;

/**
 * Parses an ISO 8601 time with UTC offset to milliseconds since the epoch. Accepts `t`, `z` and a
 * leap second (RFC 3339), which counts as the second after it. Null for anything else.
 */
function parseTime(text: string): number | null {
  const match = TIME.exec(text);
  if (match === null) return null;
  const [year, month, day] = match.slice(1, 4).map(Number) as [number, number, number];
  // Date.parse reads 2026-02-30 as March 2.
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const isLeap = LEAP_SECOND.test(text);
  const epochMs = Date.parse(text.toUpperCase().replace(',', '.').replace(LEAP_SECOND, '$1:59'));
  return Number.isNaN(epochMs) ? null : epochMs + (isLeap ? 1_000 : 0);
}

/** ISO 8601 UTC, or null for never. */
const expiry: Field<string | null> = {
  schema: { type: ['string', 'null'], format: 'date-time', description: 'Null or absent: never.' },
  decode(value, path, { wallMs }) {
    if (wallMs === undefined) throw new Error('decoding an expiry needs the current time');
    if (value === null) return null;
    const epochMs = typeof value === 'string' ? parseTime(value) : null;
    if (epochMs === null) {
      throw invalidArgument(path, 'an ISO 8601 time with its offset, such as 2030-01-31T00:00:00Z, or null', value);
    }
    const utc = new Date(epochMs).toISOString();
    if (epochMs <= wallMs) throw invalidValue(path, 'a time in the future, or null', utc);
    return utc;
  },
};

/** Schema of a plan's name. */
export const planSchema = {
  type: 'string',
  description: `\`${PLAN_NAMES.join('`, `')}\`, or a plan that the operator made.`,
  pattern: PLAN_NAME_PATTERN,
};

/** The name of a plan; with `plans` in the context, of one of these. */
const plan: Field<PlanName> = {
  schema: planSchema,
  decode(value, path, { plans }) {
    if (plans !== undefined) return choiceField('', plans).decode(value, path, {});
    if (isPlanName(value)) return value;
    throw invalidArgument(path, `the name of a plan, such as ${PLAN_NAMES.join(', ')}`, value);
  },
};

/** Returns the name that a path gives to a plan. Throws INVALID_ARGUMENT. */
export function planName(name: string): PlanName {
  if (isPlanName(name)) return name;
  throw invalidArgument('plan', '1 to 40 characters of a-z 0-9 _ - that begin with a letter or digit', name);
}

/** A limit; null for none. */
function limitField(description: string, max = Number.MAX_SAFE_INTEGER): Field<number | null> {
  return {
    schema: { type: ['integer', 'null'], description, minimum: 0, maximum: max },
    decode(value, path) {
      const isLimit = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
      if (value === null || isLimit) return value as number | null;
      throw invalidArgument(path, `a whole number from 0 to ${max.toLocaleString('en')}, or null for no limit`, value);
    },
  };
}

const planLimits = ({ shardsMax }: Limits) => ({
  vectors: limitField('Stored vectors. Null: no limit.'),
  writes: limitField('Records written per month. Null: no limit.'),
  queries: limitField('Queries and facets per month. Null: no limit.'),
  collections: limitField('Collections. Null: no limit.'),
  keys: integerField('API keys.', 1, KEYS_MAX),
  shards: limitField('Shards of a new collection. Null: no limit.', shardsMax),
  anchoring: flagField('Whether roots are written to the ledger.'),
});

export const scopes = choicesField(
  'What the key may do. No scope implies another. The answer to a change by filter says how many records match, even if the key may not read them.',
  SCOPES,
);

const BACKUP_NAME = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const backupName: Field<string> = {
  schema: { type: 'string', description: 'Name of its folder. Default: the time.', pattern: BACKUP_NAME },
  decode(value, path) {
    if (typeof value === 'string' && new RegExp(BACKUP_NAME).test(value)) return value;
    throw invalidArgument(path, '1 to 64 characters of A-Z a-z 0-9 . _ - that begin with a letter or digit', value);
  },
};
const withoutSecrets = flagField('Whether to leave out the keypair and the secret.');

const NODE_NAME_MAX_CHARS = 255;

/** Bodies of requests on accounts, keys and, for operators, shards. */
export const accountRequests = (limits: Limits) => ({
  createKey: new RequestKind({
    name: label('For people.', limits.keyNameMaxChars),
    scopes: optionalField(scopes, [...SCOPES]),
    expires_at: optionalField(expiry, null),
  }),
  createAuditLink: new RequestKind({
    label: optionalField(label('Shown to everyone who has the link.', limits.auditLinkLabelMaxChars)),
    expiresAt: optionalField(expiry, null),
  }),
  createAccount: new RequestKind({ name: label('For people.', limits.accountNameMaxChars), plan }),
  changePlan: new RequestKind({ plan }),
  putPlan: new RequestKind(planLimits(limits)),
  startBackup: new RequestKind({ name: optionalField(backupName), withoutSecrets: optionalField(withoutSecrets) }),
  moveShard: new RequestKind({ node: label('Node that takes the shard.', NODE_NAME_MAX_CHARS) }),
});
