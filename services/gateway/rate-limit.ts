import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ProvecError } from '../../lib/errors.ts';

/** Counts one request of a key, the operator, an audit link or an address. Throws RATE_LIMITED. */
export type RateLimit = (id: string) => Promise<void>;

/**
 * Returns a limit on requests per second for each key, counted on this node. 0: no limit. `holder`
 * begins the message.
 */
export function rateLimitOf(perSecond: number, holder: string): RateLimit {
  if (perSecond === 0) return async () => undefined;
  const limiter = new RateLimiterMemory({ points: perSecond, duration: 1 });
  return async (keyId) => {
    try {
      await limiter.consume(keyId);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new ProvecError('RATE_LIMITED', `${holder} may send ${perSecond} requests per second.`, {
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
      });
    }
  };
}
