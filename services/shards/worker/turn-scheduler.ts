import { type FairFlow, FairFlows } from '../../../lib/time/fair-flows.ts';
import type { HostedShard } from './hosted-shard.ts';

/** Kinds of turns, in the order in which an account's kinds alternate. */
const KINDS = ['read', 'stage', 'maintain'] as const;
export type TurnKind = (typeof KINDS)[number];

/** Runs one slice of each kind of work, without blocking. */
export type TurnWork = { readonly [kind in TurnKind]: (hosted: HostedShard) => void };

/** Minimum charge per turn, in ms, so that many short turns count as well. */
const LEAST_MS = 0.1;
/** Longest time, in ms, that requests may delay a queued turn. */
const OVERDUE_MS = 8;

/** The shards of one account that want a turn. */
class AccountQueue implements FairFlow {
  readonly account: string;
  startTag = 0;
  readonly #waiting: Readonly<Record<TurnKind, Set<HostedShard>>> = {
    read: new Set(),
    stage: new Set(),
    maintain: new Set(),
  };
  #last: TurnKind = 'maintain';

  constructor(account: string) {
    this.account = account;
  }

  get isEmpty(): boolean {
    return !KINDS.some((kind) => this.has(kind));
  }

  has(kind: TurnKind): boolean {
    return this.#waiting[kind].size > 0;
  }

  add(kind: TurnKind, hosted: HostedShard): void {
    this.#waiting[kind].add(hosted);
  }

  delete(hosted: HostedShard): void {
    for (const kind of KINDS) this.#waiting[kind].delete(hosted);
  }

  /**
   * Removes and returns the next turn, alternating between kinds and, within a kind, between
   * shards.
   */
  take(): { kind: TurnKind; hosted: HostedShard } | null {
    const next = KINDS.indexOf(this.#last) + 1;
    for (const kind of [...KINDS.slice(next), ...KINDS.slice(0, next)]) {
      for (const hosted of this.#waiting[kind]) {
        this.#waiting[kind].delete(hosted);
        this.#last = kind;
        return { kind, hosted };
      }
    }
    return null;
  }
}

/**
 * Decides who runs next on the thread, in slices of milliseconds.
 *
 * Guarantees: accounts share the thread's time equally, measured by how long their turns took,
 * however many shards an account keeps busy. Time spent on an account's requests and on the first
 * slices of its reads counts as well. Within an account, kinds of work alternate, and so do
 * shards. After each turn, requests that have arrived run first, for up to 8 ms.
 *
 * Not charged: recomputation for a verification, and opening or saving a shard. Their slices run
 * between the turns. See docs/internals/shard.md.
 */
export class TurnScheduler {
  readonly #later: (run: () => void) => void;
  readonly #monotonicMs: () => number;
  readonly #work: TurnWork;
  readonly #accounts = new FairFlows((account) => new AccountQueue(account));
  #comes = false;
  #lastTurnMs = 0;

  /** `later` runs its callback after the requests that have arrived are answered. */
  constructor(later: (run: () => void) => void, monotonicMs: () => number, work: TurnWork) {
    this.#later = later;
    this.#monotonicMs = monotonicMs;
    this.#work = work;
  }

  /** Whether any shard is queued for a turn of this kind. */
  has(kind: TurnKind): boolean {
    for (const account of this.#accounts.waiting) if (account.has(kind)) return true;
    return false;
  }

  /** Queues the shard for a turn, unless it is already queued for one of this kind. */
  enqueue(kind: TurnKind, hosted: HostedShard): void {
    const account = this.#accountOf(hosted);
    account.add(kind, hosted);
    this.#accounts.setWaiting(account, true);
    this.#schedule();
  }

  /**
   * Charges a shard's account for time its requests took outside its turns, while any turn is
   * queued.
   */
  charge(hosted: HostedShard, tookMs: number): void {
    if (this.#comes) this.#accountOf(hosted).startTag += tookMs;
  }

  /** Runs a turn if one has waited too long. Call it after each request. */
  runOverdue(): void {
    if (this.#comes && this.#monotonicMs() - this.#lastTurnMs >= OVERDUE_MS) this.#runNext();
  }

  /** Removes the shard from all queues. */
  remove(hosted: HostedShard): void {
    const account = this.#accountOf(hosted);
    account.delete(hosted);
    this.#accounts.setWaiting(account, !account.isEmpty);
  }

  #accountOf(hosted: HostedShard): AccountQueue {
    return this.#accounts.of(hosted.shard.spec.accountId);
  }

  #schedule(): void {
    if (this.#comes) return;
    this.#comes = true;
    this.#lastTurnMs = this.#monotonicMs();
    this.#later(() => {
      this.#comes = false;
      this.#runNext();
      if (this.#accounts.waiting.size > 0) this.#schedule();
      else this.#accounts.clear();
    });
  }

  #runNext(): void {
    const account = this.#accounts.next();
    const turn = account?.take() ?? null;
    if (account === null || turn === null) return;
    this.#accounts.begin(account);
    this.#accounts.setWaiting(account, !account.isEmpty);
    const beganMs = this.#monotonicMs();
    this.#work[turn.kind](turn.hosted);
    const endedMs = this.#monotonicMs();
    account.startTag += Math.max(LEAST_MS, endedMs - beganMs);
    this.#lastTurnMs = endedMs;
    this.#accounts.forgetIdle();
  }
}
