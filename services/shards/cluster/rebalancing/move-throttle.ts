/** Shortest pause between two moves, in ms. */
const PAUSE_MIN_MS = 1_000;
/**
 * Time, in ms, to avoid a node after it refused a shard, and after it failed or could not be
 * reached.
 */
const REFUSED_MS = 10_000;
const FAILED_MS = 60_000;

/**
 * Limits how fast a node gives shards away: one at a time, and at most a given number of bytes per
 * second on average. Checkpoints and openings then leave disk and network to queries. All times
 * come from one monotonic clock.
 */
export class MoveThrottle {
  readonly #bytesPerSecond: number;
  #isMoving = false;
  #nextMs = Number.NEGATIVE_INFINITY;
  readonly #avoidedUntilMs = new Map<string, number>();

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** When the next move may begin, or infinity while one is running. */
  get nextMs(): number {
    return this.#isMoving ? Number.POSITIVE_INFINITY : this.#nextMs;
  }

  /** Nodes to leave alone for now. */
  avoided(monotonicMs: number): Set<string> {
    for (const [node, untilMs] of this.#avoidedUntilMs) if (untilMs <= monotonicMs) this.#avoidedUntilMs.delete(node);
    return new Set(this.#avoidedUntilMs.keys());
  }

  began(): void {
    this.#isMoving = true;
  }

  /** Notes a completed move that began at `beganMs`. */
  ended(bytes: number, beganMs: number, monotonicMs: number): void {
    this.#isMoving = false;
    this.#nextMs = Math.max(monotonicMs + PAUSE_MIN_MS, beganMs + (bytes / this.#bytesPerSecond) * 1_000);
  }

  refused(to: string, monotonicMs: number): void {
    this.#stopped(to, monotonicMs, REFUSED_MS);
  }

  /** Notes that the move failed or that its outcome is unknown. */
  failed(to: string, monotonicMs: number): void {
    this.#stopped(to, monotonicMs, FAILED_MS);
  }

  #stopped(to: string, monotonicMs: number, avoidMs: number): void {
    this.#isMoving = false;
    this.#nextMs = monotonicMs + PAUSE_MIN_MS;
    this.#avoidedUntilMs.set(to, monotonicMs + avoidMs);
  }
}
