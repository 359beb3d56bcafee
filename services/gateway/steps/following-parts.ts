import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Exchange } from '../exchange.ts';
import { attemptCall } from './call-action.ts';
import type { StepParts } from './step.ts';

/** Often enough for one call in between to be lost. */
const KEEP_EVERY_MS = INTERNAL_LIMITS.unaskedPageMaxMs / 3;

/**
 * The parts of an answer that follow its first one. What they are read from is kept while the
 * client takes in the part before, however long the gateway lets it take, and let go of at the end.
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

  /** Null after the last one, and to HEAD. Throws as the action does. */
  async next(): Promise<unknown> {
    const following = this.#following();
    if (following === null || this.#exchange.method === 'HEAD') return null;
    this.#stopKeeping();
    this.#part = await attemptCall(this.#exchange, this.#parts, following);
    this.#keep();
    return this.#part;
  }

  /** No part will be asked for any more. */
  end(): void {
    this.#stopKeeping();
    this.#tell('leave');
  }

  /** What the next part is asked for with; null after the last one. */
  #following(): object | null {
    const { params, route } = this.#exchange;
    const following = route.following(this.#part);
    return following === null ? null : { ...(params as object), ...following };
  }

  #keep(): void {
    if (this.#following() === null) return;
    this.#stopKeeping = this.#parts.timers.after(KEEP_EVERY_MS, () => {
      this.#tell('keep');
      this.#keep();
    });
  }

  /**
   * Of its failure nobody has to know: what is not kept is missed when the next part is asked for,
   * and what is not left ends by itself.
   */
  #tell(what: 'keep' | 'leave'): void {
    const { caller, route } = this.#exchange;
    const following = this.#following();
    if (route.snapshot === null || following === null) return;
    caller.call(route.snapshot[what], following).catch(() => undefined);
  }
}
