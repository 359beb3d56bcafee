import { unavailable } from '../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { withTimeLimit } from '../../../lib/time/timers.ts';

/** Part of a request's timeout, in ms, that is kept for building and sending the response. */
const ANSWER_MAX_MS = 5_000;

const LATE =
  'The service could not tell in time whether it stored the write; send it again: repeating a stored write changes nothing.';

/** Returns the total timeout of a write in ms, from the call of its action. */
export function writeTimeoutMs(anchorWaitMs: number): number {
  return INTERNAL_LIMITS.actionTimeoutMs + anchorWaitMs + ANSWER_MAX_MS;
}

/**
 * Remaining time of a write's caller: first for the commit, then for the anchor. The write itself
 * continues when it runs out, so that its reservations can be settled.
 */
export class WriteTime {
  readonly #clock: Clock;
  readonly #commitUntilMs: number;
  readonly #answerUntilMs: number;
  /** Time in ms to wait for an unavailable shard; undefined: until the timeout. */
  readonly openMaxMs: number | undefined;
  #isCommitted = false;

  constructor(clock: Clock, timeoutMs: number, openMaxMs?: number) {
    this.#clock = clock;
    this.openMaxMs = openMaxMs;
    const monotonicMs = clock.monotonicMs();
    this.#answerUntilMs = monotonicMs + timeoutMs - Math.min(ANSWER_MAX_MS, timeoutMs / 2);
    this.#commitUntilMs = Math.min(this.#answerUntilMs, monotonicMs + INTERNAL_LIMITS.actionTimeoutMs);
  }

  /** Time left for the commit in ms; 0 if it is too late to begin. */
  get leftToCommitMs(): number {
    return Math.max(0, this.#commitUntilMs - this.#clock.monotonicMs());
  }

  /** Time left before the response must be sent, in ms. */
  get leftToAnswerMs(): number {
    return Math.max(0, this.#answerUntilMs - this.#clock.monotonicMs());
  }

  /** Records the commit: from now on `answer` waits for the write and cannot time out. */
  committed(): void {
    this.#isCommitted = true;
  }

  /** Returns the result of `write`. Throws UNAVAILABLE if it is not committed in time. */
  answer<T>(write: Promise<T>): Promise<T> {
    return withTimeLimit(write, this.leftToCommitMs, () => {
      if (!this.#isCommitted) throw unavailable(LATE);
      return write;
    });
  }

  /** Returns the result of `work`, or `otherwise` if the response must be sent before that. */
  untilAnswer<T>(work: Promise<T>, otherwise: T): Promise<T> {
    return withTimeLimit(work, this.leftToAnswerMs, () => otherwise);
  }
}
