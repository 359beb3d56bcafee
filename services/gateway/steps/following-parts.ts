import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import { attemptCall } from './call-action.ts';
import type { StepParts } from './step.ts';

/** Often enough for one call in between to be lost. */
const KEEP_EVERY_MS = INTERNAL_LIMITS.unaskedPageMaxMs / 3;

/**
 * The parts of an answer that follow its first one. What they are read from is kept while the
 * client takes in the part before, however long the gateway lets it take.
 */
export class FollowingParts {
  readonly #exchange: Exchange;
  readonly #parts: StepParts;
  /** The part that was had last. */
  #part: unknown;
  #stopKeeping: () => void = () => undefined;

  /** They follow the exchange's result. */
  constructor(exchange: Exchange, parts: StepParts) {
    this.#exchange = exchange;
    this.#parts = parts;
    this.#part = exchange.result;
    this.#keep();
  }

  /** Null after the last one. Throws as the action does. */
  async next(): Promise<unknown> {
    const { params } = this.#exchange;
    const following = this.#following();
    if (following === null) return null;
    this.#stopKeeping();
    this.#part = await attemptCall(this.#exchange, this.#parts, { ...(params as object), ...following });
    this.#keep();
    return this.#part;
  }

  /** No part will be asked for any more. */
  end(): void {
    this.#stopKeeping();
  }

  /** What is asked for the next part, beside what was for the first. */
  #following(): object | null {
    const { method, route } = this.#exchange;
    return method === 'HEAD' ? null : route.following(this.#part);
  }

  #keep(): void {
    const { caller, params, route } = this.#exchange;
    const { keep } = route;
    const following = this.#following();
    if (keep === null || following === null) return;
    const again = (): void => {
      // What cannot be kept is missed when the next part is asked for.
      caller.call(keep, { ...(params as object), ...following }).catch(() => undefined);
      wait();
    };
    const wait = (): void => {
      this.#stopKeeping = this.#parts.timers.after(KEEP_EVERY_MS, again);
    };
    wait();
  }
}
