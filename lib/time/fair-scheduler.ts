export interface FairSchedulerOptions {
  /** Time in ms after which new requests and group commits get a turn of the event loop. */
  turnMs?: number;
  /** Time in ms that each piece of work counts for at least: many short ones are work, too. */
  leastMs?: number;
  /** Runs its argument once the thread has received the requests that arrived meanwhile. */
  later?(run: () => void): void;
  monotonicMs?(): number;
}

/** The waiting work of one account, in the order of its arrival. */
interface Queue {
  /** Virtual time at which the account's next piece of work begins. */
  startMs: number;
  work: (() => void)[];
}

/**
 * Decides which account's work runs next on a thread.
 *
 * Promises: accounts take turns by the time that their work took, so an account that asks for
 * little waits for the piece under way, and for one of each other account that used no more. The
 * work of an account runs in the order of its arrival. A piece costs time in proportion to the
 * accounts that wait, not to those that asked before. How it fails: work that throws ends the turn;
 * callers catch. See docs/internals/store.md and docs/internals/overload.md.
 */
export class FairScheduler {
  readonly #options: Required<FairSchedulerOptions>;
  /** The accounts that have work waiting. */
  readonly #waiting = new Map<string, Queue>();
  /** Virtual start of the next work of accounts without waiting work that are ahead of time. */
  readonly #idle = new Map<string, number>();
  #virtualMs = 0;
  #spentMs = 0;
  #isScheduled = false;

  constructor(options: FairSchedulerOptions = {}) {
    const later = (run: () => void): void => void setImmediate(run);
    this.#options = { turnMs: 4, leastMs: 0.02, later, monotonicMs: () => performance.now(), ...options };
  }

  /** Number of accounts that the scheduler remembers. */
  get remembered(): number {
    return this.#waiting.size + this.#idle.size;
  }

  submit(accountId: string, work: () => void): void {
    const queue = this.#waiting.get(accountId);
    if (queue !== undefined) queue.work.push(work);
    else {
      // An idle account saves up no time.
      const startMs = Math.max(this.#idle.get(accountId) ?? 0, this.#virtualMs);
      this.#idle.delete(accountId);
      this.#waiting.set(accountId, { startMs, work: [work] });
    }
    this.#schedule();
  }

  /** Runs all waiting work. */
  drain(): void {
    while (this.#runNext());
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.later(() => {
      this.#isScheduled = false;
      this.#spentMs = 0;
      while (this.#spentMs < this.#options.turnMs && this.#runNext());
      if (this.#waiting.size > 0) this.#schedule();
      this.#forgetIdle();
    });
  }

  #runNext(): boolean {
    const next = this.#first();
    if (next === null) return false;
    const [accountId, queue] = next;
    const { leastMs, monotonicMs } = this.#options;
    this.#virtualMs = queue.startMs;
    const beganMs = monotonicMs();
    queue.work.shift()?.();
    const tookMs = Math.max(leastMs, monotonicMs() - beganMs);
    queue.startMs += tookMs;
    this.#spentMs += tookMs;
    if (queue.work.length > 0) return true;
    this.#waiting.delete(accountId);
    this.#idle.set(accountId, queue.startMs);
    return true;
  }

  #first(): [accountId: string, queue: Queue] | null {
    let first: [string, Queue] | null = null;
    for (const entry of this.#waiting) if (first === null || entry[1].startMs < first[1].startMs) first = entry;
    return first;
  }

  /** Forgets the idle accounts that a new account would be treated like; all when no work waits. */
  #forgetIdle(): void {
    if (this.#waiting.size === 0) this.#idle.clear();
    for (const [accountId, startMs] of this.#idle) if (startMs <= this.#virtualMs) this.#idle.delete(accountId);
  }
}
