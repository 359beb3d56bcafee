/**
 * Group commit: the writing operations that wait when a commit begins share it, and its fsync.
 *
 * Promises: operations run one after the other in the order of their submission, each sees the effects of those before it;
 * their outcomes are told after COMMIT, in that order. An operation that throws on its own account, or that a constraint or
 * damaged bytes stand against, fails alone: its savepoint is rolled back. While another process writes, the whole group is run
 * again from its beginning.
 * Fails: for those operations that write much, 'capacity', while the disk has no room to spare: removing goes on, and what was
 * committed can be taken over from the WAL. For the whole group. 'capacity', nothing is there: the disk is full before or in COMMIT, and then no commit frame is
 * whole. 'unknown': an I/O error in COMMIT, as of its fsync, after which the frames may yet be found by a later start; the
 * connection is made anew, so that reading tells what is there. 'unavailable', nothing is there: all else. When not even a new
 * connection can be had, everything that follows is 'unavailable'.
 */
import { StoreError } from '../../port.ts';
import { full, isIoError, isOfSqlite, isOfStatement, storeFailure } from '../store-failure.ts';
import type { Database } from './database.ts';

export type Outcome = { result: unknown } | { error: unknown };

interface Pending {
  operation(): unknown;
  bytes: number;
  settle(outcome: Outcome): void;
}

export interface GroupCommitOptions {
  database: Database;
  /** Whether there is room for so many bytes more; without it an operation that says it writes some is refused for capacity. */
  hasRoom?(bytes: number): boolean;
  /** In the transaction of each group, after its operations. */
  beforeCommit?(): void;
  /** After its outcomes were told. */
  afterCommit?(): void;
}

/** Bounds on one group: what its first operation may wait for the others. */
const GROUP_MAX_OPERATIONS = 1_024;
const GROUP_MAX_BYTES = 8 * 1024 * 1024;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #queue: Pending[] = [];
  #scheduled = false;
  #broken: StoreError | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** `bytes` is about what it writes. */
  submit(operation: () => unknown, bytes: number, settle: (outcome: Outcome) => void): void {
    this.#queue.push({ operation, bytes, settle });
    if (this.#scheduled) return;
    this.#scheduled = true;
    // Whatever the port has received by then comes into the same group.
    setImmediate(() => this.#commitNext());
  }

  /** Commits what waits. */
  drain(): void {
    while (this.#queue.length > 0) this.#commitNext();
  }

  #commitNext(): void {
    const group = this.#takeGroup();
    // One group in a turn: requests that read come in between.
    this.#scheduled = this.#queue.length > 0;
    if (this.#scheduled) setImmediate(() => this.#commitNext());
    if (group.length === 0) return;
    const outcomes = this.#commit(group);
    for (const [at, { settle }] of group.entries()) settle(outcomes[at]);
    this.#options.afterCommit?.();
  }

  #takeGroup(): Pending[] {
    let bytes = 0;
    let count = 0;
    for (const pending of this.#queue) {
      if (count === GROUP_MAX_OPERATIONS || (count > 0 && bytes + pending.bytes > GROUP_MAX_BYTES)) break;
      bytes += pending.bytes;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  #commit(group: Pending[]): Outcome[] {
    const { database, beforeCommit, hasRoom } = this.#options;
    let isCommitting = false;
    try {
      if (this.#broken) throw this.#broken;
      const isRoom = hasRoom?.(group.reduce((sum, { bytes }) => sum + bytes, 0)) ?? true;
      return database.inTransaction(() => {
        isCommitting = false;
        const outcomes = group.map((pending) => this.#run(pending, isRoom));
        beforeCommit?.();
        isCommitting = true;
        return outcomes;
      });
    } catch (error) {
      const doing = `writing ${database.name}`;
      let failure = storeFailure(error, doing);
      if (isCommitting && isIoError(error))
        failure = new StoreError('unknown', `The disk failed at the end of a commit (${doing}).`, error);
      if (isIoError(error)) this.#reconnect();
      return group.map(() => ({ error: failure }));
    }
  }

  #run({ operation, bytes }: Pending, isRoom: boolean): Outcome {
    const { database } = this.#options;
    if (bytes > 0 && !isRoom) return { error: full(`writing ${database.name}`) };
    try {
      return { result: database.inSavepoint(operation) };
    } catch (error) {
      if (!database.isInTransaction || (isOfSqlite(error) && !isOfStatement(error))) throw error;
      return { error };
    }
  }

  #reconnect(): void {
    try {
      this.#options.database.reconnect();
    } catch (error) {
      const message = `The store failed (${this.#options.database.name}); restart the service.`;
      this.#broken = new StoreError('unavailable', message, error);
    }
  }
}
