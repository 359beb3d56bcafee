import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { ProvecError } from '../../lib/errors.ts';

/** Requests per second and API key, counted on this node. */
export class RateLimit {
  readonly #limiter: RateLimiterMemory | null;
  readonly #perSecond: number;

  /** `perSecond` 0: no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#limiter = perSecond === 0 ? null : new RateLimiterMemory({ points: perSecond, duration: 1 });
  }

  /** Counts one request of a key. Throws RATE_LIMITED. */
  async take(keyId: string): Promise<void> {
    if (this.#limiter === null) return;
    try {
      await this.#limiter.consume(keyId);
    } catch (refusal) {
      if (!(refusal instanceof RateLimiterRes)) throw refusal;
      throw new ProvecError('RATE_LIMITED', `This API key may send ${this.#perSecond} requests per second.`, {
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
      });
    }
  }
}
