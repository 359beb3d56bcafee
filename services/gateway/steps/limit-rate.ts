import type { Exchange } from '../exchange.ts';
import type { StepParts } from './step.ts';

/** Counts the request of a key. Throws RATE_LIMITED. */
export async function limitRate({ identity }: Exchange, { rateLimit }: StepParts): Promise<void> {
  if (identity !== null) await rateLimit.take(identity.keyId);
}
