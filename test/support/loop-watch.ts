const TICK_MS = 5;

/**
 * Measures how long this process's main thread worked without a turn of its event loop. Time
 * without a processor does not count, so a busy machine does not look like a blocked loop.
 */
export class LoopWatch {
  readonly #timer: NodeJS.Timeout;
  #turnMs = performance.now();
  #cpuMs = cpuMs();
  #mostMs = 0;

  constructor() {
    this.#timer = setInterval(() => this.#turn(), TICK_MS);
  }

  /** Ends the measurement and returns the longest time, in milliseconds. */
  async end(): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 2 * TICK_MS));
    clearInterval(this.#timer);
    return this.#mostMs;
  }

  #turn(): void {
    const turnMs = performance.now();
    const workedMs = cpuMs();
    this.#mostMs = Math.max(this.#mostMs, Math.min(turnMs - this.#turnMs, workedMs - this.#cpuMs));
    this.#turnMs = turnMs;
    this.#cpuMs = workedMs;
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
