import { invalidArgument } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { PLAN_NAMES } from '../../lib/plans.ts';
import { invalidValue } from '../../lib/records/fields.ts';
import { SCOPES } from '../../store/keys.ts';
import { choiceField, choicesField, type Field, flagField, label, optionalField } from './field.ts';
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

export const plan = choiceField('Its limits.', PLAN_NAMES);
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
export const accountRequests = ({ accountNameMaxChars, auditLinkLabelMaxChars, keyNameMaxChars }: Limits) => ({
  createKey: new RequestKind({
    name: label('For people.', keyNameMaxChars),
    scopes: optionalField(scopes, [...SCOPES]),
    expires_at: optionalField(expiry, null),
  }),
  createAuditLink: new RequestKind({
    label: optionalField(label('Shown to everyone who has the link.', auditLinkLabelMaxChars)),
    expiresAt: optionalField(expiry, null),
  }),
  createAccount: new RequestKind({ name: label('For people.', accountNameMaxChars), plan }),
  changePlan: new RequestKind({ plan }),
  startBackup: new RequestKind({ name: optionalField(backupName), withoutSecrets: optionalField(withoutSecrets) }),
  moveShard: new RequestKind({ node: label('Node that takes the shard.', NODE_NAME_MAX_CHARS) }),
});
