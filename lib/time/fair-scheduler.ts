import { type FairFlow, FairFlows } from './fair-flows.ts';

export interface FairSchedulerOptions {
  /** Time in ms after which new requests and group commits get a turn of the event loop. */
  turnMs?: number;
  /** Runs work within `submit` if none waits and this turn has time left. */
  isEager?: boolean;
  /** Minimum time in ms that each piece of work counts for: many short ones are work, too. */
  leastMs?: number;
  /** Runs its argument once the thread has received the requests that arrived meanwhile. */
  later?(run: () => void): void;
  monotonicMs?(): number;
}

/** The waiting work of one account, in order of arrival. */
interface Queue extends FairFlow {
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
  readonly #flows = new FairFlows<Queue>((account) => ({ account, startTag: 0, work: [] }));
  #spentMs = 0;
  #isScheduled = false;

  constructor(options: FairSchedulerOptions = {}) {
    const later = (run: () => void): void => void setImmediate(run);
    this.#options = {
      turnMs: 4,
      isEager: false,
      leastMs: 0.02,
      later,
      monotonicMs: () => performance.now(),
      ...options,
    };
  }

  /** Number of accounts that the scheduler remembers. */
  get remembered(): number {
    return this.#flows.size;
  }

  submit(account: string, work: () => void): void {
    const queue = this.#flows.of(account);
    queue.work.push(work);
    const isFirst = this.#flows.waiting.size === 0;
    this.#flows.setWaiting(queue, true);
    if (this.#options.isEager && isFirst && this.#hasTime) this.#runNext();
    this.#schedule();
  }

  /** Runs `work` in the account's turn. Rejects like `work`. */
  run<T>(account: string, work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.submit(account, () => {
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Runs all waiting work. */
  drain(): void {
    while (this.#runNext());
  }

  get #hasTime(): boolean {
    return this.#spentMs < this.#options.turnMs;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.later(() => {
      this.#isScheduled = false;
      this.#spentMs = 0;
      while (this.#hasTime && this.#runNext());
      if (this.#flows.waiting.size > 0) this.#schedule();
      this.#flows.forgetIdle();
    });
  }

  #runNext(): boolean {
    const queue = this.#flows.next();
    const work = queue?.work.shift();
    if (queue === null || work === undefined) return false;
    const { leastMs, monotonicMs } = this.#options;
    this.#flows.begin(queue);
    this.#flows.setWaiting(queue, queue.work.length > 0);
    const beganMs = monotonicMs();
    work();
    const tookMs = Math.max(leastMs, monotonicMs() - beganMs);
    queue.startTag += tookMs;
    this.#spentMs += tookMs;
    return true;
  }
}
