import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Store } from '../../../lib/store/port.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import { mayRetireUndone, type RetireOptions, retire } from './retire.ts';

const PAUSE = { minMs: 250, maxMs: 60_000 };

export interface RetirementOptions {
  store: Store;
  headsAt: RetireOptions['headsAt'];
  log: Logger;
}

/**
 * Has every row retire while the ledger is off, in the background: each collection's shards are
 * asked first. What cannot be asked for now is asked later; a collection that contradicts what was
 * confirmed keeps its row.
 */
export class Retirement {
  readonly #options: RetirementOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(options: RetirementOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; failures++) {
      if (await this.#all()) return;
      await delay(backoffMs(failures, PAUSE), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Whether there is nothing to come back for. */
  async #all(): Promise<boolean> {
    const { store, headsAt, log } = this.#options;
    let isDone = true;
    try {
      for await (const rows of store.anchors.all()) {
        for (const row of rows) {
          if (this.#stopped.signal.aborted) return true;
          if (!mayRetireUndone(row)) continue;
          await retire(row, { store, anchors: store.anchors, headsAt }).catch(() => {
            isDone = false;
          });
        }
      }
    } catch (error) {
      log.warn({ err: error }, 'could not retire the collections of plans without anchoring; trying again');
      return false;
    }
    return isDone;
  }
}
