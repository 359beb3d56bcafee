/** Time in ms after which new requests and group commits get a turn of the event loop. */
const TURN_MS = 4;
/** Time in ms that each read counts for at least: many short reads are work, too. */
const LEAST_MS = 0.02;

/** The waiting reads of one account, in the order of their arrival. */
interface Queue {
  /** Virtual time at which the account's next read begins. */
  startMs: number;
  reads: (() => void)[];
}

/**
 * Decides which account's read runs next on a store's thread.
 *
 * Promises: accounts take turns by the time that their reads took, so a read of an account that
 * asks for little waits for the read under way, and for one of each other account that used no
 * more. The reads of an account run in the order of their arrival. A read costs time in proportion
 * to the accounts that wait, not to those that asked before. How it fails: a read that throws ends
 * the turn; callers catch. See docs/internals/store.md.
 */
export class FairScheduler {
  readonly #later: (run: () => void) => void;
  readonly #monotonicMs: () => number;
  /** The accounts that have reads waiting. */
  readonly #waiting = new Map<string, Queue>();
  /** Virtual start of the next read of accounts without a waiting read that are ahead of time. */
  readonly #idle = new Map<string, number>();
  #virtualMs = 0;
  #isScheduled = false;

  /** `later` runs its argument once the thread has received the requests that arrived meanwhile. */
  constructor(
    later: (run: () => void) => void = (run) => setImmediate(run),
    monotonicMs: () => number = () => performance.now(),
  ) {
    this.#later = later;
    this.#monotonicMs = monotonicMs;
  }

  /** Number of accounts that the scheduler remembers. */
  get remembered(): number {
    return this.#waiting.size + this.#idle.size;
  }

  submit(accountId: string, read: () => void): void {
    const queue = this.#waiting.get(accountId);
    if (queue !== undefined) queue.reads.push(read);
    else {
      // An idle account saves up no time.
      const startMs = Math.max(this.#idle.get(accountId) ?? 0, this.#virtualMs);
      this.#idle.delete(accountId);
      this.#waiting.set(accountId, { startMs, reads: [read] });
    }
    this.#schedule();
  }

  /** Runs all waiting reads. */
  drain(): void {
    while (this.#runNext());
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#later(() => {
      this.#isScheduled = false;
      const endMs = this.#monotonicMs() + TURN_MS;
      while (this.#runNext() && this.#monotonicMs() < endMs);
      if (this.#waiting.size > 0) this.#schedule();
      this.#forgetIdle();
    });
  }

  #runNext(): boolean {
    const next = this.#first();
    if (next === null) return false;
    const [accountId, queue] = next;
    this.#virtualMs = queue.startMs;
    const beganMs = this.#monotonicMs();
    queue.reads.shift()?.();
    queue.startMs += Math.max(LEAST_MS, this.#monotonicMs() - beganMs);
    if (queue.reads.length > 0) return true;
    this.#waiting.delete(accountId);
    this.#idle.set(accountId, queue.startMs);
    return true;
  }

  #first(): [accountId: string, queue: Queue] | null {
    let first: [string, Queue] | null = null;
    for (const entry of this.#waiting) if (first === null || entry[1].startMs < first[1].startMs) first = entry;
    return first;
  }

  /** Forgets the idle accounts that a new account would be treated like; all when no read waits. */
  #forgetIdle(): void {
    if (this.#waiting.size === 0) this.#idle.clear();
    for (const [accountId, startMs] of this.#idle) if (startMs <= this.#virtualMs) this.#idle.delete(accountId);
  }
}
