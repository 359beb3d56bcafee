import type { AccountId } from '../ids.ts';

export interface FairSchedulerOptions {
  /** Time in ms after which new requests and group commits get a turn of the event loop. */
  turnMs?: number;
  /** Minimum time in ms that each piece of work counts for: many short ones are work, too. */
  leastMs?: number;
  /** Runs its argument once the thread has received the requests that arrived meanwhile. */
  later?(run: () => void): void;
  monotonicMs?(): number;
}

/** The waiting work of one account, in order of arrival. */
interface Queue {
  /** Virtual time at which the account's next piece of work begins. */
  startMs: number;
  work: (() => void)[];
}

/**
 * Decides which account's work runs next on a thread.
 *
 * Accounts take turns by the time that their work took. So an account with little work waits for
 * the current piece, and for one piece of each account that has used no more. Each account's work
 * runs in order of arrival. The cost of a turn depends on the number of waiting accounts only. Work
 * that throws ends the turn, so callers must catch errors. See docs/internals/store.md and
 * docs/internals/overload.md.
 */
export class FairScheduler {
  readonly #options: Required<FairSchedulerOptions>;
  /** The accounts that have work waiting. */
  readonly #waiting = new Map<string, Queue>();
  /** Virtual start times of idle accounts that are ahead of virtual time. */
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

  submit(accountId: AccountId, work: () => void): void {
    const queue = this.#waiting.get(accountId);
    if (queue !== undefined) queue.work.push(work);
    else {
      // An idle account does not accumulate credit.
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

  #first(): [accountId: AccountId, queue: Queue] | null {
    let first: [string, Queue] | null = null;
    for (const entry of this.#waiting) if (first === null || entry[1].startMs < first[1].startMs) first = entry;
    return first;
  }

  /** Forgets idle accounts that are not ahead of a new account; all of them if no work waits. */
  #forgetIdle(): void {
    if (this.#waiting.size === 0) this.#idle.clear();
    for (const [accountId, startMs] of this.#idle) if (startMs <= this.#virtualMs) this.#idle.delete(accountId);
  }
}
