import { ProvecError } from '../../lib/errors.ts';
import type { Clock } from '../../lib/runtime.ts';
import { monthEnd, monthOf } from '../../lib/time/month.ts';
import type { Allowance } from './allowance.ts';

export type LimitedThing = 'writes' | 'queries' | 'vectors' | 'collections' | 'keys';

/** How the sentence names each: per month, or as stock that can be made room for. */
const WORDS = {
  writes: { monthly: true, noun: 'writes per month' },
  queries: { monthly: true, noun: 'queries per month' },
  vectors: { monthly: false, noun: 'stored vectors' },
  collections: { monthly: false, noun: 'collections' },
  keys: { monthly: false, noun: 'API keys' },
} as const satisfies Record<LimitedThing, { monthly: boolean; noun: string }>;

export interface Refused {
  limit: LimitedThing;
  used: number;
  /** How much the request would have added. */
  requested: number;
}

/**
 * Makes the PLAN_LIMIT_REACHED of a refused request. Monthly limits say in the sentence when they
 * start again, and not in `retryAfterSeconds`: clients that obey it would sleep for weeks.
 */
export function planLimitReached(
  { limit, used, requested }: Refused,
  { plan, limits }: Allowance,
  clock: Clock,
  pricingUrl: string,
): ProvecError {
  const { monthly, noun } = WORDS[limit];
  const resetsAt = monthEnd(monthOf(clock.wallMs()));
  const maximum = limits[limit] ?? used;
  const count = new Intl.NumberFormat('en-US');
  const message =
    `The plan "${plan}" allows ${count.format(maximum)} ${noun}; ${count.format(used)} are used and this request needs ` +
    `${count.format(requested)} more. ` +
    (monthly ? `The count starts again at ${resetsAt}. ` : 'Delete some to make room. ') +
    `Larger plans: ${pricingUrl}`;
  return new ProvecError('PLAN_LIMIT_REACHED', message);
}

/**
 * The UNAVAILABLE of a write that waited too long for others, or finds too many of them waiting.
 */
export function tooBusy(): ProvecError {
  const message = 'Other writes of this account are still under way and the plan leaves little room: try again.';
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: 1 });
}

/**
 * The UNAVAILABLE of a write that does not fit beside those whose outcome nobody knows, whose room
 * comes back in `forMs`.
 */
export function roomUncertain(forMs: number): ProvecError {
  const message =
    'A failure left it unknown whether other writes of this account were stored, and the plan has no room beside them: ' +
    'try again when the room held for them has run out.';
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: Math.ceil(forMs / 1_000) });
}

/** The UNAVAILABLE of a write whose ticket has run out, or is not known. */
export function ticketGone(): ProvecError {
  const message = 'The room held for this write has run out: try again.';
  return new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: 1 });
}
