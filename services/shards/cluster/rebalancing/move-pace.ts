/** Between two moves, however small. */
const PAUSE_MIN_MS = 1_000;
/** After a refusal, and after a target failed or could not be reached. */
const REFUSED_MS = 10_000;
const FAILED_MS = 60_000;

/**
 * How fast a node gives shards away: one at a time, and over time no more than so many bytes a
 * second, so that checkpoints and openings leave the disk and the network to queries. Times are of
 * one monotonic clock.
 */
export class MovePace {
  readonly #bytesPerSecond: number;
  #isMoving = false;
  #nextMs = Number.NEGATIVE_INFINITY;
  readonly #avoidedUntilMs = new Map<string, number>();

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** When the next move may begin; infinite while one is under way. */
  get nextMs(): number {
    return this.#isMoving ? Number.POSITIVE_INFINITY : this.#nextMs;
  }

  /** Nodes not to be asked now. */
  avoided(monotonicMs: number): Set<string> {
    for (const [node, untilMs] of this.#avoidedUntilMs) if (untilMs <= monotonicMs) this.#avoidedUntilMs.delete(node);
    return new Set(this.#avoidedUntilMs.keys());
  }

  began(): void {
    this.#isMoving = true;
  }

  /** A shard of that size was handed over, beginning at `beganMs`. */
  ended(bytes: number, beganMs: number, monotonicMs: number): void {
    this.#isMoving = false;
    this.#nextMs = Math.max(monotonicMs + PAUSE_MIN_MS, beganMs + (bytes / this.#bytesPerSecond) * 1_000);
  }

  /** The target does not take it now. */
  refused(to: string, monotonicMs: number): void {
    this.#stopped(to, monotonicMs, REFUSED_MS);
  }

  /** The move failed, or nobody knows. */
  failed(to: string, monotonicMs: number): void {
    this.#stopped(to, monotonicMs, FAILED_MS);
  }

  #stopped(to: string, monotonicMs: number, avoidMs: number): void {
    this.#isMoving = false;
    this.#nextMs = monotonicMs + PAUSE_MIN_MS;
    this.#avoidedUntilMs.set(to, monotonicMs + avoidMs);
  }
}
