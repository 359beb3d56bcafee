/**
 * Tells which part of a queue's permits one account may hold while the event loop is busy.
 *
 * A busy event loop runs one step of every running request before it gives a small request its next
 * step. More running requests then make each of them slower, and none of them faster. So while
 * several accounts send requests, the part of each falls while the loop has little idle time, and
 * recovers afterwards. An account that is alone keeps all of it.
 */
const SAMPLE_MS = 50;
/** Shares of its time that the loop works, above which it is busy, and below which it is not. */
const BUSY = 0.8;
const CALM = 0.6;
/** Factor by which the part falls in a sample, and by whose inverse it recovers. */
const STEP = 0.7;
const PART_MIN = 1 / 8;
/** How long an account counts after its last request, in ms. */
const SEEN_MS = 1_000;

export class LoopPressure {
  readonly #monotonicMs: () => number;
  readonly #risen: () => void;
  readonly #timer = setInterval(() => this.#sample(), SAMPLE_MS).unref();
  #last = performance.eventLoopUtilization();
  #part = 1;
  /** The part at the last sample. */
  #before = 1;
  #account: string | null = null;
  /** When a request last came from another account than the one before it. */
  #sharedAtMs = Number.NEGATIVE_INFINITY;

  /** Calls `risen` soon after the part has risen, so that waiting requests begin. */
  constructor(monotonicMs: () => number, risen: () => void) {
    this.#monotonicMs = monotonicMs;
    this.#risen = risen;
  }

  /** Call it for each request. */
  came(account: string): void {
    if (account !== this.#account) this.#sharedAtMs = this.#monotonicMs();
    this.#account = account;
  }

  /** From 1/8 to 1. */
  get part(): number {
    return this.#monotonicMs() - this.#sharedAtMs < SEEN_MS ? this.#part : 1;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #sample(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#last);
    this.#last = now;
    if (utilization > BUSY) this.#part = Math.max(PART_MIN, this.#part * STEP);
    else if (utilization < CALM) this.#part = Math.min(1, this.#part / STEP);
    const { part } = this;
    if (part > this.#before) this.#risen();
    this.#before = part;
  }
}
