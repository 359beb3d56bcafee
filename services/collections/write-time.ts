import { unavailable } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../lib/time/clock.ts';
import { within } from '../../lib/time/timers.ts';

/** Kept of a request's time for making its answer and sending it. */
const ANSWER_MAX_MS = 5_000;

const LATE =
  'The service could not tell in time whether it stored the write; send it again: repeating a stored write changes nothing.';

/** What a write may take in all, from the call of its action. */
export function writeTimeoutMs(anchorWaitMs: number): number {
  return INTERNAL_LIMITS.actionTimeoutMs + anchorWaitMs + ANSWER_MAX_MS;
}

/**
 * The time that the caller of a write waits, and what is left of it: first for the commit, then for
 * the anchor. The write itself runs on when it is over, so that its outcome becomes known to
 * whoever holds something for it.
 */
export class WriteTime {
  readonly #clock: Clock;
  readonly #commitUntilMs: number;
  readonly #answerUntilMs: number;
  /**
   * How long a shard may be away before the caller is told; undefined: as long as there is time.
   */
  readonly awayMaxMs: number | undefined;
  #isCommitted = false;

  constructor(clock: Clock, timeoutMs: number, awayMaxMs?: number) {
    this.#clock = clock;
    this.awayMaxMs = awayMaxMs;
    const monotonicMs = clock.monotonicMs();
    this.#answerUntilMs = monotonicMs + timeoutMs - Math.min(ANSWER_MAX_MS, timeoutMs / 2);
    this.#commitUntilMs = Math.min(this.#answerUntilMs, monotonicMs + INTERNAL_LIMITS.actionTimeoutMs);
  }

  /** 0 when it is too late for the commit to begin. */
  get leftToCommitMs(): number {
    return Math.max(0, this.#commitUntilMs - this.#clock.monotonicMs());
  }

  /** 0 when the answer must go out now. */
  get leftToAnswerMs(): number {
    return Math.max(0, this.#answerUntilMs - this.#clock.monotonicMs());
  }

  /** From here on the answer is what the write gives, never that it is late. */
  committed(): void {
    this.#isCommitted = true;
  }

  /** What `write` gives; throws UNAVAILABLE when it is not known to be committed in time. */
  answer<T>(write: Promise<T>): Promise<T> {
    return within(write, this.leftToCommitMs, () => {
      if (!this.#isCommitted) throw unavailable(LATE);
      return write;
    });
  }

  /** What `work` gives, or `otherwise` when that does not come before the answer must go out. */
  untilAnswer<T>(work: Promise<T>, otherwise: T): Promise<T> {
    return within(work, this.leftToAnswerMs, () => otherwise);
  }
}
