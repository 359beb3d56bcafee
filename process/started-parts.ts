import type { Logger } from 'pino';

/**
 * The started parts of a process, which `stop` stops in reverse order. A part that fails to stop is
 * logged, and the next one is stopped.
 */
export class StartedParts {
  readonly #log: Logger;
  readonly #stops: (readonly [name: string, stop: () => Promise<unknown>])[] = [];
  #stopping: Promise<void> | null = null;
  /** Name of the part being stopped. */
  current = 'the start';

  constructor(log: Logger) {
    this.#log = log;
  }

  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  add(name: string, stop: () => Promise<unknown>): void {
    this.#stops.push([name, stop]);
  }

  /** Stops all parts. Idempotent; never rejects. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    for (let part = this.#stops.pop(); part; part = this.#stops.pop()) {
      const [name, stop] = part;
      this.current = name;
      await stop().catch((error: unknown) =>
        this.#log.error({ err: error, part: name }, 'a part of the service did not stop cleanly'),
      );
    }
  }
}
