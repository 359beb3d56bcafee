/**
 * Where requests wait for one of a bounded number of seats, each account in a line of its own.
 *
 * Promises
 * - What is begun takes at most `seats`, and one account at most `shareFactor` times what it leaves
 *   free.
 * - Accounts that wait take turns by the seat time they used: width times milliseconds, guessed
 *   when a request begins and set right when it ends. So one that comes to an empty line is begun
 *   before the next of every line that used more. Source: start-time fair queueing for servers that
 *   work on several requests at once, SFQ(D), of Jin, Chase and Kaur, "Interposed Proportional
 *   Sharing for a Storage Service Utility" (2004); charging the measured time afterwards is what
 *   Kubernetes' API Priority and Fairness does.
 * - At most `waitingMax` wait, and `waitingPerAccountMax` of one account. Where all lines together
 *   are full, the last of the longest gives way to one that comes to a shorter line.
 * - Nobody waits longer than `waitMaxMs`, or when the client is gone.
 *
 * How it fails: with UNAVAILABLE and the time after which to try again, before anything was done
 * for the request.
 */

import { Shares } from '../../../lib/admission/fair-share.ts';
import { ProvecError } from '../../../lib/errors.ts';
import type { Timers } from '../../../lib/time/timers.ts';
import { ClientGoneError } from '../client-gone.ts';

/** What a request is taken to use of each of its seats, until it has ended. */
const GUESS_MS = 5;
/** What each request counts for at least: many short ones are work, too. */
const LEAST_MS = 1;
/** Lines of accounts that have nothing under way, remembered for what they used. */
const IDLE_LINES_MAX = 4_096;

export interface QueueBounds {
  seats: number;
  /** An account may hold this many times the seats that it leaves free; infinite: all of them. */
  shareFactor: number;
  /** Whether the seats are for each account rather than for all: nobody then waits for another. */
  seatsPerAccount: boolean;
  waitingMax: number;
  waitingPerAccountMax: number;
  waitMaxMs: number;
}

/** Why a request was refused. */
export type Refusal = 'account full' | 'all full' | 'waited' | 'stopping';

/** Told what happens; never of which account. */
export interface QueueObserver {
  waiting(count: number): void;
  taken(seats: number): void;
  /** Of a request that was begun. */
  waited(seconds: number): void;
  refused(reason: Refusal): void;
}

export interface Visitor {
  account: string;
  /** Seats that the request takes; more than there are counts as all. */
  width: number;
  /** Calls `leave` when the client is gone; what it returns ends that. */
  whenGone(leave: () => void): () => void;
}

/** What a request holds while it is under way. */
export interface Seat {
  /** Idempotent. */
  release(): void;
}

export interface QueueParts {
  timers: Timers;
  nowMs(): number;
  observer: QueueObserver;
}

interface Waiting {
  visitor: Visitor;
  width: number;
  sinceMs: number;
  begin(seat: Seat): void;
  refuse(error: Error): void;
}

/** One account's part of the queue. */
interface Line {
  account: string;
  waiting: Waiting[];
  /** Seats that its requests hold. */
  seats: number;
  /** Virtual time at which its next request begins. */
  startTag: number;
}

export class FairQueue {
  readonly #bounds: QueueBounds;
  readonly #parts: QueueParts;
  readonly #shares: Shares;
  readonly #lines = new Map<string, Line>();
  /** Those of `#lines` in which somebody waits. */
  readonly #backlogged = new Set<Line>();
  #virtualMs = 0;
  #waiting = 0;
  #closed = false;

  constructor(bounds: QueueBounds, parts: QueueParts) {
    this.#bounds = bounds;
    this.#parts = parts;
    this.#shares = new Shares(bounds.shareFactor);
  }

  /** Requests that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Seats that are taken. */
  get taken(): number {
    return this.#shares.total;
  }

  /** Resolves when the request may begin. Rejects with UNAVAILABLE, or with ClientGoneError. */
  async enter(visitor: Visitor): Promise<Seat> {
    if (this.#closed) throw this.#refusal('stopping');
    const line = this.#lineOf(visitor.account);
    if (line.waiting.length === 0) line.startTag = Math.max(line.startTag, this.#virtualMs);
    const width = Math.min(Math.max(1, visitor.width), this.#bounds.seats);
    if (this.#mayTake(line, width) && this.#isFree(line, width) && this.#firstInTurn() === null) {
      this.#parts.observer.waited(0);
      return this.#begin(line, width);
    }
    this.#makeRoom(line);
    return new Promise((begin, refuse) => this.#wait(line, { visitor, width, begin, refuse }));
  }

  /** Refuses all that wait, and whoever still comes. */
  close(): void {
    this.#closed = true;
    for (const line of [...this.#backlogged]) {
      for (const waiting of line.waiting.slice()) waiting.refuse(this.#refusal('stopping'));
    }
  }

  #wait(line: Line, { begin, refuse, ...request }: Omit<Waiting, 'sinceMs'>): void {
    const sinceMs = this.#parts.nowMs();
    const leave = () => {
      stopTimer();
      stopWatching();
      line.waiting.splice(line.waiting.indexOf(waiting), 1);
      if (line.waiting.length === 0) this.#backlogged.delete(line);
      this.#changeWaiting(-1);
    };
    const waiting: Waiting = {
      ...request,
      sinceMs,
      begin: (seat) => {
        leave();
        this.#parts.observer.waited((this.#parts.nowMs() - sinceMs) / 1000);
        begin(seat);
      },
      refuse: (error) => {
        leave();
        this.#forgetIfIdle(line);
        refuse(error);
        // It may have been what others could not get past.
        this.#beginNext();
      },
    };
    const { waitMaxMs } = this.#bounds;
    const stopTimer = this.#parts.timers.after(waitMaxMs, () => waiting.refuse(this.#refusal('waited', line)));
    const stopWatching = request.visitor.whenGone(() => waiting.refuse(new ClientGoneError()));
    line.waiting.push(waiting);
    this.#backlogged.add(line);
    this.#changeWaiting(1);
  }

  /** Throws when there is no room for one more in a line. */
  #makeRoom(line: Line): void {
    const { waitingMax, waitingPerAccountMax } = this.#bounds;
    if (line.waiting.length >= waitingPerAccountMax) throw this.#refusal('account full', line);
    if (this.#waiting < waitingMax) return;
    const longest = [...this.#backlogged].reduce((most, next) =>
      next.waiting.length > most.waiting.length ? next : most,
    );
    if (longest.waiting.length <= line.waiting.length + 1) {
      const error = this.#refusal('all full', longest);
      this.#forgetIfIdle(line);
      throw error;
    }
    longest.waiting.at(-1)!.refuse(this.#refusal('all full', longest));
  }

  #beginNext(): void {
    for (let line = this.#firstInTurn(); line !== null && !this.#closed; line = this.#firstInTurn()) {
      const { begin, width } = line.waiting[0]!;
      // One that needs many seats would be passed by others for ever: they wait until there are as
      // many.
      if (!this.#isFree(line, width)) return;
      begin(this.#begin(line, width));
    }
  }

  /** Of the lines that may take more seats, the one whose turn it is. */
  #firstInTurn(): Line | null {
    let first: Line | null = null;
    for (const line of this.#backlogged) {
      if (first !== null && first.startTag <= line.startTag) continue;
      if (this.#mayTake(line, line.waiting[0]!.width)) first = line;
    }
    return first;
  }

  #isFree(line: Line, width: number): boolean {
    const { seats, seatsPerAccount } = this.#bounds;
    return (seatsPerAccount ? line.seats : this.#shares.total) + width <= seats;
  }

  #mayTake(line: Line, width: number): boolean {
    const { seats, seatsPerAccount } = this.#bounds;
    return seatsPerAccount ? this.#isFree(line, width) : this.#shares.admits(line.account, width, seats);
  }

  #begin(line: Line, width: number): Seat {
    const { nowMs, observer } = this.#parts;
    this.#virtualMs = Math.max(this.#virtualMs, line.startTag);
    line.startTag += width * GUESS_MS;
    line.seats += width;
    this.#shares.add(line.account, width);
    observer.taken(this.#shares.total);
    const sinceMs = nowMs();
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        line.startTag += width * (Math.max(LEAST_MS, nowMs() - sinceMs) - GUESS_MS);
        line.seats -= width;
        this.#shares.add(line.account, -width);
        observer.taken(this.#shares.total);
        this.#beginNext();
        this.#forgetIfIdle(line);
      },
    };
  }

  #lineOf(account: string): Line {
    const known = this.#lines.get(account);
    if (known !== undefined) return known;
    const line: Line = { account, waiting: [], seats: 0, startTag: this.#virtualMs };
    this.#lines.set(account, line);
    return line;
  }

  /** What an idle line used counts until the others have used as much, or nobody is there. */
  #forgetIfIdle(line: Line): void {
    if (this.#shares.total === 0 && this.#waiting === 0) {
      this.#lines.clear();
      this.#virtualMs = 0;
    } else if (isIdle(line) && line.startTag <= this.#virtualMs) {
      this.#lines.delete(line.account);
    } else if (this.#lines.size > IDLE_LINES_MAX) {
      for (const each of this.#lines.values()) if (isIdle(each)) this.#lines.delete(each.account);
    }
  }

  #changeWaiting(change: number): void {
    this.#waiting += change;
    this.#parts.observer.waiting(this.#waiting);
  }

  /** `line` tells how long its first has waited, which is how long it takes now. */
  #refusal(reason: Refusal, line?: Line): ProvecError {
    this.#parts.observer.refused(reason);
    const first = line?.waiting[0];
    const waitedMs = first === undefined ? 0 : this.#parts.nowMs() - first.sinceMs;
    return new ProvecError('UNAVAILABLE', MESSAGES[reason], {
      retryAfterSeconds: Math.max(1, Math.ceil(waitedMs / 1000)),
    });
  }
}

const isIdle = ({ seats, waiting }: Line) => seats === 0 && waiting.length === 0;

const MESSAGES: { readonly [reason in Refusal]: string } = {
  'account full': 'Too many requests of this account wait for their turn already; send this one again later.',
  'all full': 'The service is overloaded; send the request again later.',
  waited: 'The service is overloaded: the turn of this request did not come in time; send it again later.',
  stopping: 'The service is stopping; send the request again.',
};
