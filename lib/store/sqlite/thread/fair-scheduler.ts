/** After so long others get a turn of the event loop: requests that came, and group commits. */
const TURN_MS = 4;
/** What each read counts for at least: many short ones are work, too. */
const LEAST_MS = 0.02;

/** The reads of one account that wait, in the order in which they came. */
interface Account {
  /** Virtual time at which its next read begins. */
  startMs: number;
  waiting: (() => void)[];
}

/**
 * Decides whose read runs next on a store's thread.
 *
 * Promises: accounts take turns by the time that their reads took, so one that comes with little
 * waits for the read under way, and for one of each other account that used no more. The reads of
 * an account run in the order in which they came. How it fails: a read that throws ends the turn;
 * callers catch. See docs/internals/store.md.
 */
export class FairScheduler {
  readonly #later: (run: () => void) => void;
  readonly #monotonicMs: () => number;
  readonly #accounts = new Map<string, Account>();
  #virtualMs = 0;
  #isScheduled = false;

  /** `later` runs what it is given once the requests that came meanwhile were received. */
  constructor(
    later: (run: () => void) => void = (run) => setImmediate(run),
    monotonicMs: () => number = () => performance.now(),
  ) {
    this.#later = later;
    this.#monotonicMs = monotonicMs;
  }

  submit(accountId: string, read: () => void): void {
    let account = this.#accounts.get(accountId);
    if (account === undefined) {
      account = { startMs: this.#virtualMs, waiting: [] };
      this.#accounts.set(accountId, account);
    } else if (account.waiting.length === 0) {
      // What it did not use while it wanted nothing is not saved up.
      account.startMs = Math.max(account.startMs, this.#virtualMs);
    }
    account.waiting.push(read);
    this.#schedule();
  }

  /** Runs all that waits. */
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
      if (this.#first() !== null) this.#schedule();
      else this.#accounts.clear();
    });
  }

  #runNext(): boolean {
    const account = this.#first();
    const read = account?.waiting.shift();
    if (account === null || read === undefined) return false;
    this.#virtualMs = account.startMs;
    const beganMs = this.#monotonicMs();
    read();
    account.startMs += Math.max(LEAST_MS, this.#monotonicMs() - beganMs);
    return true;
  }

  #first(): Account | null {
    let first: Account | null = null;
    for (const account of this.#accounts.values()) {
      if (account.waiting.length > 0 && (first === null || account.startMs < first.startMs)) first = account;
    }
    return first;
  }
}
