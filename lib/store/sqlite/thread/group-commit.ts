/**
 * Group commit: the writing operations that wait when a commit begins share it, and its fsync.
 *
 * Promises: operations run in the order of their submission, each sees the effects of those before
 * it, and their outcomes are told after COMMIT, in that order. An operation that fails on its own
 * account fails alone.
 * How it fails: 'capacity' and 'unavailable': nothing of the group is there. 'unknown': COMMIT
 * failed, and reading tells what is there for good. 'capacity' for a single operation: it writes
 * much, and the disk has no room to spare.
 * See docs/internals/store.md.
 */
import { StoreError } from '../../port.ts';
import { full, isBusy, isFull, isOfSqlite, isOfStatement, storeFailure } from '../store-failure.ts';
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
   * Whether there is room for so many bytes more; without it an operation that says it writes some
   * is refused for capacity.
   */
  hasRoom?(bytes: number): boolean;
  /** In the transaction of each group, after its operations. */
  beforeCommit?(): void;
  /** When COMMIT has succeeded, before the outcomes are told. */
  onCommit?(): void;
  /** After the outcomes were told, whatever they are. */
  afterGroup?(): void;
}

/** Bounds on one group: what its first operation may wait for the others. */
const GROUP_MAX_OPERATIONS = 1_024;
const GROUP_MAX_BYTES = 8 * 1024 * 1024;
const RETRY_MIN_MS = 1;
const RETRY_SPREAD_MS = 1.5;

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  #queue: Pending[] = [];
  /** The one whose turn it is. */
  #group: Pending[] = [];
  #giveUpAtMs = 0;
  #isScheduled = false;
  #refusal: StoreError | null = null;

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** `bytes` is about what it writes. */
  submit(operation: () => unknown, bytes: number, settle: (outcome: Outcome) => void): void {
    this.#queue.push({ operation, bytes, settle });
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // Whatever the port has received by then comes into the same group.
    setImmediate(() => this.#turn());
  }

  /** Why nothing is committed any more; null while it is. */
  get refusal(): StoreError | null {
    return this.#refusal;
  }

  /** From now on nothing is committed any more. */
  refuse(failure: StoreError): void {
    this.#refusal ??= failure;
  }

  /**
   * Commits what waits; what another process does not let through within `LOCK_MAX_MS` in all is
   * refused. Blocks the thread.
   */
  drain(): void {
    const giveUpAtMs = performance.now() + LOCK_MAX_MS;
    while (this.#next()) {
      this.#giveUpAtMs = Math.min(this.#giveUpAtMs, giveUpAtMs);
      if (!this.#commit()) nap();
    }
  }

  /** One group, or one attempt at it: requests that read come in between. */
  #turn(): void {
    this.#isScheduled = false;
    if (!this.#next()) return;
    const isDone = this.#commit();
    if (isDone && this.#queue.length === 0) return;
    this.#isScheduled = true;
    if (isDone) setImmediate(() => this.#turn());
    else setTimeout(() => this.#turn(), RETRY_MIN_MS + Math.random() * RETRY_SPREAD_MS);
  }

  /** Takes the next group from the queue if none is begun; false when there is nothing to do. */
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

  /** Settles the group; false when another process is in its way. */
  #commit(): boolean {
    const outcomes = this.#attempt();
    if (outcomes === null) return false;
    for (const [at, { settle }] of this.#group.entries()) settle(outcomes[at]);
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
      const isUnknown = isCommitting && !isBusy(error) && !isFull(error);
      if (isUnknown) this.#writeOver();
      const failure = isUnknown
        ? new StoreError('unknown', `The disk failed at the end of a commit (${doing}).`, error)
        : storeFailure(error, doing);
      return this.#group.map(() => ({ error: failure }));
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

  /**
   * The next commit begins in the WAL where the one began that failed; what is left of that has
   * wrong checksums then.
   */
  #writeOver(): void {
    const { database, beforeCommit, onCommit } = this.#options;
    try {
      database.tryTransaction(() => beforeCommit?.());
      onCommit?.();
    } catch (error) {
      // Then the next commit does.
      if (!isOfSqlite(error)) throw error;
    }
  }
}
