import { invalidArgument } from '../errors.ts';
import type { Limits } from '../limits.ts';
import { PLAN_NAMES } from '../plans.ts';
import { invalid } from '../records/fields.ts';
import { SCOPES } from '../store/keys.ts';
import { type Field, label, oneOf, optional, someOf } from './field.ts';
import { RequestKind } from './request.ts';
import { parseTime } from './time.ts';

/** ISO 8601 UTC, or null for never. */
const expiry: Field<string | null> = {
  schema: { type: ['string', 'null'], format: 'date-time', description: 'Null or absent: never.' },
  decode(value, path, { wallMs }) {
    if (wallMs === undefined) throw new Error('an expiry is held against the present time');
    if (value === null) return null;
    const epochMs = typeof value === 'string' ? parseTime(value) : null;
    if (epochMs === null) {
      throw invalidArgument(path, 'an ISO 8601 time with its offset, such as 2030-01-31T00:00:00Z, or null', value);
    }
    const utc = new Date(epochMs).toISOString();
    if (epochMs <= wallMs) throw invalid(path, 'a time in the future, or null', utc);
    return utc;
  },
};

export const plan = oneOf('Its limits.', PLAN_NAMES);
export const scopes = someOf('What the key may do; they do not imply each other.', SCOPES);

export const createKeyRequest = ({ keyNameMaxChars }: Limits) =>
  new RequestKind({
    name: label('For people.', keyNameMaxChars),
    scopes: optional(scopes, [...SCOPES]),
    expires_at: optional(expiry, null),
  });

export const createAccountRequest = ({ accountNameMaxChars }: Limits) =>
  new RequestKind({ name: label('For people.', accountNameMaxChars), plan });

export const changePlanRequest = () => new RequestKind({ plan });
