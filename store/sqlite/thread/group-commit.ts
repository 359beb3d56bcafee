/**
 * Group commit: all writes waiting when a commit begins share it and its fsync.
 *
 * Guarantees: operations run in the order of submission, and each sees the effects of those before
 * it. Outcomes are reported after COMMIT, in that order. An operation that throws fails alone. On
 * failure: 'capacity' and 'unavailable' mean that no part of the group was written. After 'unknown'
 * COMMIT failed, and a read shows what was written. A single operation fails with 'capacity' if it
 * writes much and the disk has little room. See docs/internals/store.md.
 */
import { itemAt } from '../../../lib/checked-access.ts';
import { StoreError } from '../../port.ts';
import { diskFull, isBusy, isDiskFull, isSqliteError, isStatementError, sqliteFailure } from '../store-failure.ts';
import { type Database, LOCK_MAX_MS, nap } from './database.ts';

export type Outcome = { result: unknown } | { error: unknown };

interface Pending {
  operation(): unknown;
  bytes: number;
  settle(outcome: Outcome): void;
}

export interface GroupCommitOptions {
  database: Pick<Database, 'name' | 'tryTransaction' | 'inSavepoint' | 'isInTransaction'>;
  /**
   * Returns whether there is room for this many more bytes. Without it operations with `bytes` > 0
   * are refused.
   */
  hasRoom?(bytes: number): boolean;
  /** Runs in the transaction of each group, after its operations. */
  beforeCommit?(): void;
  /** Runs after a successful COMMIT, before outcomes are reported. */
  onCommit?(): void;
  /** Runs after outcomes were reported, also after a failed COMMIT. */
  afterGroup?(): void;
}

/** Bounds of a group, which limit how long its first operation waits for the others. */
const GROUP_MAX_OPERATIONS = 1_024;
const GROUP_MAX_BYTES = 8 * 1024 * 1024;
const RETRY_MIN_MS = 1;
const RETRY_SPREAD_MS = 1.5;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #queue: Pending[] = [];
  /** The group being committed. */
  #group: Pending[] = [];
  #giveUpAtMs = 0;
  #isScheduled = false;
  #refusal: StoreError | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** `bytes`: approximate number of bytes that the operation writes. */
  submit(operation: () => unknown, bytes: number, settle: (outcome: Outcome) => void): void {
    this.#queue.push({ operation, bytes, settle });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Operations that the port has already received join the same group.
    setImmediate(() => this.#turn());
  }

  /** Reason why nothing is committed any more; null while commits are possible. */
  get refusal(): StoreError | null {
    return this.#refusal;
  }

  refuse(failure: StoreError): void {
    this.#refusal ??= failure;
  }

  /**
   * Commits everything submitted. Refuses what another process keeps blocked for `LOCK_MAX_MS` in
   * all. Blocks the thread.
   */
  drain(): void {
    const giveUpAtMs = performance.now() + LOCK_MAX_MS;
    while (this.#next()) {
      this.#giveUpAtMs = Math.min(this.#giveUpAtMs, giveUpAtMs);
      if (!this.#commit()) nap();
    }
  }

  /** Runs one attempt to commit one group. Reads run between attempts. */
  #turn(): void {
    this.#isScheduled = false;
    if (!this.#next()) return;
    const isDone = this.#commit();
    if (isDone && this.#queue.length === 0) return;
    this.#isScheduled = true;
    if (isDone) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), RETRY_MIN_MS + Math.random() * RETRY_SPREAD_MS);
  }

  /**
   * Takes the next group from the queue unless one is pending; returns false if there is nothing to
   * do.
   */
  #next(): boolean {
    if (this.#group.length > 0) return true;
    let bytes = 0;
    let count = 0;
    for (const pending of this.#queue) {
      if (count === GROUP_MAX_OPERATIONS || (count > 0 && bytes + pending.bytes > GROUP_MAX_BYTES)) break;
      bytes += pending.bytes;
      count++;
    }
    this.#group = this.#queue.splice(0, count);
    this.#giveUpAtMs = performance.now() + LOCK_MAX_MS;
    return count > 0;
  }

  /** Commits or fails the group; returns false if another process blocks it. */
  #commit(): boolean {
    const outcomes = this.#attempt();
    if (outcomes === null) return false;
    for (const [at, { settle }] of this.#group.entries()) settle(itemAt(outcomes, at));
    this.#group = [];
    this.#options.afterGroup?.();
    return true;
  }

  #attempt(): Outcome[] | null {
    const { database, beforeCommit, onCommit, hasRoom } = this.#options;
    let isCommitting = false;
    try {
      if (this.#refusal !== null) throw this.#refusal;
      const isRoom = hasRoom?.(this.#group.reduce((sum, { bytes }) => sum + bytes, 0)) ?? true;
      const outcomes = database.tryTransaction(() => {
        const results = this.#group.map((pending) => this.#run(pending, isRoom));
        beforeCommit?.();
        isCommitting = true;
        return results;
      });
      onCommit?.();
      return outcomes;
    } catch (error) {
      if (isBusy(error) && performance.now() < this.#giveUpAtMs) return null;
      const doing = `writing ${database.name}`;
      const isUnknown = isCommitting && !isBusy(error) && !isDiskFull(error);
      if (isUnknown) this.#writeOver();
      const failure = isUnknown
        ? new StoreError('unknown', `The disk failed at the end of a commit (${doing}).`, error)
        : sqliteFailure(error, doing);
      return this.#group.map(() => ({ error: failure }));
    }
  }

  #run({ operation, bytes }: Pending, isRoom: boolean): Outcome {
    const { database } = this.#options;
    if (bytes > 0 && !isRoom) return { error: diskFull(`writing ${database.name}`) };
    try {
      return { result: database.inSavepoint(operation) };
    } catch (error) {
      if (!database.isInTransaction || (isSqliteError(error) && !isStatementError(error))) throw error;
      return { error };
    }
  }

  /**
   * Overwrites the frames of a failed commit: the next commit starts at the same place in the WAL,
   * which invalidates the checksums of what is left of them.
   */
  #writeOver(): void {
    const { database, beforeCommit, onCommit } = this.#options;
    try {
      database.tryTransaction(() => beforeCommit?.());
      onCommit?.();
    } catch (error) {
      // The next commit overwrites them instead.
      if (!isSqliteError(error)) throw error;
    }
  }
}
