/**
 * Queue in which requests wait for one of a bounded number of permits, one flow per account.
 *
 * Guarantees: running requests hold at most `permits`. Waiting accounts take turns by the time that
 * they have used, so an account that used little is served soon. No request waits longer than
 * `waitMaxMs`. Refuses with UNAVAILABLE and a retry delay, before any work is done for the request.
 * Later parts of a response are never refused, because that would cut the response off. See
 * docs/internals/overload.md.
 */

import { FairShares } from '../../../lib/admission/fair-share.ts';
import { firstOf, lastOf } from '../../../lib/checked-access.ts';
import { ProvecError } from '../../../lib/errors.ts';
import { type FairFlow, FairFlows } from '../../../lib/time/fair-flows.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';
import type { LoopPressure } from './loop-pressure.ts';

/** Estimated time, in ms per permit, charged to a request until it ends. */
const GUESS_MS = 5;
/** Minimum time charged to a finished request, in ms per permit, so that short ones add up. */
const LEAST_MS = 1;
/** Maximum number of idle flows that are kept for the time they have used. */
const IDLE_FLOWS_MAX = 4_096;

export interface QueueBounds {
  permits: number;
  /** Maximum ratio of permits that an account holds to those it leaves free. */
  shareFactor: number;
  /** True if each account has `permits` of its own, so that no account waits for another. */
  permitsPerAccount: boolean;
  /** True if an account holds fewer permits while the event loop is busy with several accounts. */
  shrinks: boolean;
  waitingMax: number;
  waitingPerAccountMax: number;
  waitMaxMs: number;
}

export type QueueRefusal = 'account full' | 'all full' | 'waited' | 'stopping';

/** Receives the queue's events, without account names. */
export interface QueueObserver {
  waiting(count: number): void;
  taken(permits: number): void;
  /** Called when a request starts. */
  waited(seconds: number): void;
  refused(reason: QueueRefusal): void;
}

export interface QueueRequest {
  account: string;
  /** Permits that the request takes, capped at the queue's number of permits. */
  width: number;
  /**
   * True for a later part of a response that has begun. It waits until it starts or the client
   * disconnects, and does not count towards `waitingMax` and `waitingPerAccountMax`.
   */
  hasBegun?: boolean;
  /** Calls `leave` when the client disconnects. Returns a function that cancels this. */
  whenGone(leave: () => void): () => void;
}

/** Permits held by a running request. */
export interface Permit {
  /** Idempotent. */
  release(): void;
}

interface QueueParts {
  timers: Timers;
  monotonicMs(): number;
  observer: QueueObserver;
  pressure: Pick<LoopPressure, 'came' | 'part'>;
}

interface Waiting {
  request: QueueRequest;
  width: number;
  sinceMs: number;
  begin(permit: Permit): void;
  refuse(error: Error): void;
}

/** Waiting requests of one account, in order of arrival. */
interface Flow extends FairFlow {
  waiting: Waiting[];
  /** Number of those that may be refused for overload. */
  refusable: number;
}

const isRefusable = ({ request }: Waiting): boolean => request.hasBegun !== true;

export class FairQueue {
  readonly #bounds: QueueBounds;
  readonly #parts: QueueParts;
  readonly #shares: FairShares;
  readonly #flows = new FairFlows<Flow>((account) => ({ account, startTag: 0, waiting: [], refusable: 0 }));
  #waiting = 0;
  #refusable = 0;
  #closed = false;

  constructor(bounds: QueueBounds, parts: QueueParts) {
    this.#bounds = bounds;
    this.#parts = parts;
    this.#shares = new FairShares(bounds.shareFactor);
  }

  /** Resolves when the request may start. Rejects with UNAVAILABLE or ClientGoneError. */
  async enter(request: QueueRequest): Promise<Permit> {
    const mayRefuse = request.hasBegun !== true;
    if (this.#closed && mayRefuse) throw this.#refusal('stopping');
    this.#parts.pressure.came(request.account);
    const flow = this.#flows.of(request.account);
    const width = Math.min(Math.max(1, request.width), this.#bounds.permits);
    if (this.#mayTake(flow, width) && this.#isFree(flow, width) && this.#firstInTurn() === null) {
      this.#parts.observer.waited(0);
      return this.#begin(flow, width);
    }
    if (mayRefuse) this.#makeRoom(flow);
    return new Promise((begin, refuse) => this.#wait({ request, width, begin, refuse }));
  }

  /** Refuses all waiting and later requests, except later parts of responses. */
  close(): void {
    this.#closed = true;
    for (const flow of [...this.#flows.waiting]) {
      for (const waiting of flow.waiting.filter(isRefusable)) waiting.refuse(this.#refusal('stopping'));
    }
  }

  #wait({ begin, refuse, ...request }: Omit<Waiting, 'sinceMs'>): void {
    // Looked up again: making room may have forgotten the account's idle flow.
    const flow = this.#flows.of(request.request.account);
    const sinceMs = this.#parts.monotonicMs();
    const leave = () => {
      stopTimer();
      stopWatching();
      flow.waiting.splice(flow.waiting.indexOf(waiting), 1);
      this.#changeWaiting(flow, -1, waiting);
    };
    const waiting: Waiting = {
      ...request,
      sinceMs,
      begin: (permit) => {
        leave();
        this.#parts.observer.waited((this.#parts.monotonicMs() - sinceMs) / 1000);
        begin(permit);
      },
      refuse: (error) => {
        leave();
        this.#forgetIfIdle(flow);
        refuse(error);
        // The refused request may have blocked others.
        this.beginWaiting();
      },
    };
    const { waitMaxMs } = this.#bounds;
    const stopTimer = isRefusable(waiting)
      ? this.#parts.timers.after(waitMaxMs, () => waiting.refuse(this.#refusal('waited', flow)))
      : () => undefined;
    const stopWatching = request.request.whenGone(() => waiting.refuse(new ClientGoneError()));
    flow.waiting.push(waiting);
    this.#changeWaiting(flow, 1, waiting);
  }

  /**
   * Makes sure that the flow may get one more waiting request, by refusing the newest of the
   * longest flow if the queue is full. Throws UNAVAILABLE if it may not.
   */
  #makeRoom(flow: Flow): void {
    const { waitingMax, waitingPerAccountMax } = this.#bounds;
    if (flow.refusable >= waitingPerAccountMax) throw this.#refusal('account full', flow);
    if (this.#refusable < waitingMax) return;
    const longest = [...this.#flows.waiting].reduce((most, next) => (next.refusable > most.refusable ? next : most));
    if (longest.refusable <= flow.refusable + 1) {
      const error = this.#refusal('all full', longest);
      this.#forgetIfIdle(flow);
      throw error;
    }
    lastOf(longest.waiting.filter(isRefusable)).refuse(this.#refusal('all full', longest));
  }

  /** Begins what may begin. Call it when the pressure has fallen. */
  beginWaiting(): void {
    for (let flow = this.#firstInTurn(); flow !== null; flow = this.#firstInTurn()) {
      const { begin, width } = firstOf(flow.waiting);
      // Later requests must not overtake one that needs many permits, or it might never start.
      if (!this.#isFree(flow, width)) return;
      begin(this.#begin(flow, width));
    }
  }

  /** Returns the next flow among those that may take more permits. */
  #firstInTurn(): Flow | null {
    return this.#flows.next((flow) => {
      const first = firstOf(flow.waiting);
      return !(this.#closed && isRefusable(first)) && this.#mayTake(flow, first.width);
    });
  }

  #isFree(flow: Flow, width: number): boolean {
    const { permits, permitsPerAccount } = this.#bounds;
    return (permitsPerAccount ? this.#shares.of(flow.account) : this.#shares.total) + width <= permits;
  }

  #mayTake(flow: Flow, width: number): boolean {
    const { permits, permitsPerAccount, shrinks } = this.#bounds;
    if (permitsPerAccount) return this.#isFree(flow, width);
    const ownMax = shrinks ? permits * this.#parts.pressure.part : permits;
    return this.#shares.admits(flow.account, width, permits, ownMax);
  }

  #begin(flow: Flow, width: number): Permit {
    const { monotonicMs, observer } = this.#parts;
    this.#flows.begin(flow);
    flow.startTag += width * GUESS_MS;
    this.#shares.add(flow.account, width);
    observer.taken(this.#shares.total);
    const sinceMs = monotonicMs();
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        flow.startTag += width * (Math.max(LEAST_MS, monotonicMs() - sinceMs) - GUESS_MS);
        this.#shares.add(flow.account, -width);
        observer.taken(this.#shares.total);
        this.beginWaiting();
        this.#forgetIfIdle(flow);
      },
    };
  }

  /** Drops the flow if the others have caught up with its used time, or the queue is empty. */
  #forgetIfIdle(flow: Flow): void {
    if (this.#shares.total === 0 && this.#waiting === 0) {
      this.#flows.clear();
    } else if (this.#isIdle(flow) && this.#flows.hasCaughtUp(flow)) {
      this.#flows.forget(flow);
    } else if (this.#flows.size > IDLE_FLOWS_MAX) {
      for (const each of this.#flows) if (this.#isIdle(each)) this.#flows.forget(each);
    }
  }

  #isIdle({ account, waiting }: Flow): boolean {
    return waiting.length === 0 && this.#shares.of(account) === 0;
  }

  #changeWaiting(flow: Flow, change: 1 | -1, waiting: Waiting): void {
    this.#flows.setWaiting(flow, flow.waiting.length > 0);
    this.#waiting += change;
    if (isRefusable(waiting)) {
      this.#refusable += change;
      flow.refusable += change;
    }
    this.#parts.observer.waiting(this.#waiting);
  }

  /** Returns the error; the retry delay is how long the flow's first request has waited. */
  #refusal(reason: QueueRefusal, flow?: Flow): ProvecError {
    this.#parts.observer.refused(reason);
    const first = flow?.waiting[0];
    const waitedMs = first === undefined ? 0 : this.#parts.monotonicMs() - first.sinceMs;
    return new ProvecError('UNAVAILABLE', MESSAGES[reason], {
      retryAfterSeconds: Math.max(1, Math.ceil(waitedMs / 1000)),
    });
  }
}

const MESSAGES: { readonly [reason in QueueRefusal]: string } = {
  'account full': 'This account already has too many requests waiting; send this one again later.',
  'all full': 'The service is overloaded; send the request again later.',
  waited: 'The service is overloaded and did not get to this request in time; send it again later.',
  stopping: 'The service is stopping; send the request again.',
};
