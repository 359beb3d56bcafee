/**
 * Removes what deleted collections leave behind: shards, stored data and the account on the ledger.
 *
 * The name is free before anything else happens. Every step is idempotent, and the catalog
 * remembers the collection until the last step is done. After a crash, another process continues at
 * its start or within minutes. Failed steps are retried until they succeed.
 */

import pLimit from 'p-limit';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import { pause } from '../../../lib/time/timers.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { CollectionRow } from '../../../store/catalog.ts';

const RETRY = { minMs: 250, maxMs: 30_000 };
/** Timeout in ms of dropping the shards, which takes time proportional to their data. */
const DROP_TIMEOUT_MS = 3_600_000;
const LOOK_EVERY_MS = 300_000;
/** Maximum number of removals at a time that no request waits for, and of those of one account. */
const REMOVALS_MAX = 4;

export class Removal {
  #caller: Caller;
  #runtime: Pick<Runtime, 'store' | 'log'>;
  #idle: (id: string) => Promise<void>;
  #running = new Map<string, { firstTry: Promise<boolean>; done: Promise<void> }>();
  #stopped = new AbortController();
  readonly #turns = pLimit(REMOVALS_MAX);

  /** `idle` resolves when no operation runs on the collection any more. */
  constructor(caller: Caller, runtime: Pick<Runtime, 'store' | 'log'>, idle: (id: string) => Promise<void>) {
    this.#caller = caller;
    this.#runtime = runtime;
    this.#idle = idle;
  }

  /**
   * Continues removals that earlier processes did not finish, now and every few minutes, since
   * other processes may also end early.
   */
  async resume(): Promise<void> {
    this.#takeUp(await this.#runtime.store.catalog.listDropped());
    void this.#watch();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped;
    for (;;) {
      await pause(LOOK_EVERY_MS, signal, false);
      if (signal.aborted) return;
      try {
        this.#takeUp(await this.#runtime.store.catalog.listDropped());
      } catch (error) {
        this.#runtime.log.warn({ err: error }, 'could not list deleted collections; trying again');
      }
    }
  }

  #takeUp(rows: CollectionRow[]): void {
    for (const row of rows) void this.#turns(() => this.#stopped.signal.aborted || this.clear(row));
  }

  /** Returns true if nothing is left of any dropped collection of the account. */
  async clearAll(accountId: string): Promise<boolean> {
    const dropped = (await this.#runtime.store.catalog.listDropped()).filter((row) => row.accountId === accountId);
    return (await pLimit(REMOVALS_MAX).map(dropped, (row) => this.clear(row))).every((isCleared) => isCleared);
  }

  /**
   * Resolves after the first attempt with whether nothing is left. Retries continue in the
   * background. Never rejects.
   */
  clear(row: CollectionRow): Promise<boolean> {
    const running = this.#running.get(row.id);
    if (running) return running.firstTry;
    const firstTry = this.#idle(row.id).then(() => this.#try(row.id));
    const done = firstTry
      .then((isCleared) => (isCleared ? undefined : this.#retry(row.id)))
      .finally(() => this.#running.delete(row.id));
    this.#running.set(row.id, { firstTry, done });
    return firstTry;
  }

  /** Cancels the waits between retries and waits for running steps. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await Promise.all([...this.#running.values()].map(({ done }) => done));
  }

  async #retry(id: string): Promise<void> {
    const { signal } = this.#stopped;
    for (let failures = 0; !signal.aborted; failures++) {
      await pause(backoffMs(failures, RETRY), signal);
      if (await this.#turns(() => signal.aborted || this.#try(id))) return;
    }
  }

  async #try(id: string): Promise<boolean> {
    const params = { collectionId: id };
    try {
      await call(this.#caller, 'shards.drop', params, { timeout: DROP_TIMEOUT_MS });
      await call(this.#caller, 'anchoring.close', params);
      await this.#runtime.store.catalog.forgetDropped(id);
      return true;
    } catch (error) {
      this.#runtime.log.warn({ err: error, collectionId: id }, 'could not clear a deleted collection; trying again');
      return false;
    }
  }
}
