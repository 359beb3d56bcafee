import { ProvecError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { monthEnd, monthOf } from '../../lib/time/month.ts';
import type { Allowance } from './allowance.ts';

/** Wording of each limit: per month, or a total in which the client can make room. */
const WORDS = {
  writes: { monthly: true, noun: 'writes per month', remedy: '' },
  queries: { monthly: true, noun: 'queries per month', remedy: '' },
  vectors: { monthly: false, noun: 'stored vectors', remedy: 'Delete' },
  collections: { monthly: false, noun: 'collections', remedy: 'Delete' },
  keys: { monthly: false, noun: 'API keys', remedy: 'Revoke' },
};

const count = new Intl.NumberFormat('en-US');

interface Refused {
  limit: keyof typeof WORDS;
  used: number;
  /** How much the request would have added. */
  requested: number;
}

/**
 * Builds the PLAN_LIMIT_REACHED error of a request. Monthly limits have no `retryAfterSeconds`,
 * because clients that obey it would sleep for weeks; the message says when they start again.
 */
export function planLimitReached(
  { limit, used, requested }: Refused,
  { plan, limits }: Allowance,
  clock: Clock,
  pricingUrl: string,
): ProvecError {
  const { monthly, noun, remedy } = WORDS[limit];
  const resetsAt = monthEnd(monthOf(clock.wallMs()));
  const maximum = limits[limit] ?? used;
  const message =
    `The plan "${plan}" allows ${count.format(maximum)} ${noun}; ${count.format(used)} are used and this request needs ` +
    `${count.format(requested)} more. ` +
    (monthly ? `The count starts again at ${resetsAt}. ` : `${remedy} some to make room. `) +
    `Larger plans: ${pricingUrl}`;
  return new ProvecError('PLAN_LIMIT_REACHED', message);
}

/** Builds the PLAN_LIMIT_REACHED error of a collection with more shards than the plan allows. */
export function tooManyShards(requested: number, { plan, limits }: Allowance, pricingUrl: string): ProvecError {
  const message =
    `The plan "${plan}" allows ${count.format(limits.shards ?? requested)} shards in a collection and this request ` +
    `asks for ${count.format(requested)}. Ask for fewer \`shards\`. Larger plans: ${pricingUrl}`;
  return new ProvecError('PLAN_LIMIT_REACHED', message);
}

/** Builds an UNAVAILABLE error; the request may be retried after `retryAfterSeconds`. */
export function meteringUnavailable(message: string, retryAfterSeconds = 1): ProvecError {
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds });
}

/** Builds the error of a write that waited too long for others, or finds too many waiting. */
export function tooBusy(): ProvecError {
  return meteringUnavailable(
    'Other writes of this account are still under way and the plan leaves little room: try again.',
  );
}
