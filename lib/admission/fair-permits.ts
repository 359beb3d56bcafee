import { firstOf } from '../checked-access.ts';
import { type FairFlow, FairFlows } from '../time/fair-flows.ts';
import { FairShares } from './fair-share.ts';

/** Waiting calls of one account, in order of arrival. */
interface Flow extends FairFlow {
  waiting: (() => void)[];
}

/**
 * A bounded number of permits, shared by accounts. Waiting accounts take turns, permit by permit.
 * No account alone holds all permits, so others need not wait for it.
 */
export class FairPermits {
  readonly #permits: number;
  readonly #shares: FairShares;
  readonly #flows = new FairFlows<Flow>((account) => ({ account, startTag: 0, waiting: [] }));

  /** An account may hold `shareFactor` times the permits that it leaves free. */
  constructor(permits: number, shareFactor: number) {
    this.#permits = permits;
    this.#shares = new FairShares(shareFactor);
  }

  /**
   * Waits for a permit, and returns a function that releases it, to be called once. Rejects with
   * the signal's reason when the signal aborts.
   */
  acquire(account: string, signal?: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const flow = this.#flows.of(account);
      const leave = (): void => {
        flow.waiting.splice(flow.waiting.indexOf(begin), 1);
        this.#flows.setWaiting(flow, flow.waiting.length > 0);
        signal?.removeEventListener('abort', abandon);
      };
      const abandon = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      const begin = (): void => {
        leave();
        resolve(() => this.#release(account));
      };
      signal?.addEventListener('abort', abandon);
      flow.waiting.push(begin);
      this.#flows.setWaiting(flow, true);
      this.#beginWaiting();
    });
  }

  #beginWaiting(): void {
    while (this.#shares.total < this.#permits) {
      const flow = this.#flows.next(({ account }) => this.#shares.admits(account, 1, this.#permits));
      if (flow === null) return;
      this.#flows.begin(flow);
      flow.startTag += 1;
      this.#shares.add(flow.account, 1);
      firstOf(flow.waiting)();
    }
  }

  #release(account: string): void {
    this.#shares.add(account, -1);
    this.#beginWaiting();
    this.#flows.forgetIdle();
  }
}
