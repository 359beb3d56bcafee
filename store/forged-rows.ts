import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { StoreError } from './port.ts';

const REPORTED_MAX = 1_000;

/** Logs rows that the service did not write, or wrote under another secret; each row once. */
export class ForgedRows {
  readonly #log: Pick<Logger, 'error'> | undefined;
  readonly #told = new LRUCache<string, true>({ max: REPORTED_MAX });

  constructor(log?: Pick<Logger, 'error'>) {
    this.#log = log;
  }

  report(
    kind: 'account' | 'alias' | 'anchor' | 'API key' | 'audit entry' | 'audit link' | 'collection' | 'plan',
    id: unknown,
  ): void {
    const row = `${kind} ${String(id).slice(0, 64)}`;
    if (this.#told.has(row)) return;
    this.#told.set(row, true);
    this.#log?.error({ row }, 'a stored row was not written by this service, or was written under another secret');
  }

  /** Logs the row and returns the error to throw. */
  refusal(kind: 'account' | 'alias' | 'collection' | 'plan', id: unknown): StoreError {
    this.report(kind, id);
    return new StoreError(
      'damaged',
      `A stored row (${kind}) was not written by this service, or was written under another secret.`,
    );
  }
}
