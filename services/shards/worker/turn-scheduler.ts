import type { HostedShard } from './hosted-shard.ts';

/** Kinds of turns, in the order in which an account's kinds alternate. */
const KINDS = ['query', 'stage', 'maintain'] as const;
export type TurnKind = (typeof KINDS)[number];

/** Runs one slice of each kind of work, without blocking. */
export type TurnWork = { readonly [kind in TurnKind]: (held: HostedShard) => void };

/** Minimum charge per turn, in ms, so that many short turns count as well. */
const LEAST_MS = 0.1;
/** Longest time, in ms, that requests may delay a queued turn. */
const OVERDUE_MS = 8;

/** The shards of one account that want a turn. */
class AccountQueue {
  /** Virtual time at which its next turn begins. */
  startMs: number;
  readonly #waiting: Readonly<Record<TurnKind, Set<HostedShard>>> = {
    query: new Set(),
    stage: new Set(),
    maintain: new Set(),
  };
  #last: TurnKind = 'maintain';

  constructor(startMs: number) {
    this.startMs = startMs;
  }

  get isEmpty(): boolean {
    return !KINDS.some((kind) => this.has(kind));
  }

  has(kind: TurnKind): boolean {
    return this.#waiting[kind].size > 0;
  }

  add(kind: TurnKind, held: HostedShard): void {
    this.#waiting[kind].add(held);
  }

  delete(held: HostedShard): void {
    for (const kind of KINDS) this.#waiting[kind].delete(held);
  }

  /**
   * Removes and returns the next turn, alternating between kinds and, within a kind, between
   * shards.
   */
  take(): { kind: TurnKind; held: HostedShard } | null {
    const next = KINDS.indexOf(this.#last) + 1;
    for (const kind of [...KINDS.slice(next), ...KINDS.slice(0, next)]) {
      for (const held of this.#waiting[kind]) {
        this.#waiting[kind].delete(held);
        this.#last = kind;
        return { kind, held };
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
 * slices of its queries counts as well. Within an account, kinds of work alternate, and so do
 * shards. After each turn, requests that have arrived run first, for up to 8 ms.
 *
 * Not charged: recomputation for a verification. See docs/internals/shard.md.
 */
export class TurnScheduler {
  readonly #later: (run: () => void) => void;
  readonly #monotonicMs: () => number;
  readonly #work: TurnWork;
  readonly #accounts = new Map<string, AccountQueue>();
  #virtualMs = 0;
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
    for (const account of this.#accounts.values()) if (account.has(kind)) return true;
    return false;
  }

  /** Queues the shard for a turn, unless it is already queued for one of this kind. */
  enqueue(kind: TurnKind, held: HostedShard): void {
    this.#accountOf(held).add(kind, held);
    this.#schedule();
  }

  /**
   * Charges a shard's account for time its requests took outside its turns, while any turn is
   * queued.
   */
  charge(held: HostedShard, tookMs: number): void {
    if (this.#comes) this.#accountOf(held).startMs += tookMs;
  }

  /** Runs a turn if one has waited too long. Call it after each request. */
  runOverdue(): void {
    if (this.#comes && this.#monotonicMs() - this.#lastTurnMs >= OVERDUE_MS) this.#runNext();
  }

  /** Removes the shard from all queues. */
  remove(held: HostedShard): void {
    this.#accounts.get(held.shard.spec.accountId)?.delete(held);
  }

  #accountOf(held: HostedShard): AccountQueue {
    const { accountId } = held.shard.spec;
    const known = this.#accounts.get(accountId);
    if (known !== undefined) {
      // An idle account does not save up unused time.
      if (known.isEmpty) known.startMs = Math.max(known.startMs, this.#virtualMs);
      return known;
    }
    const account = new AccountQueue(this.#virtualMs);
    this.#accounts.set(accountId, account);
    return account;
  }

  #schedule(): void {
    if (this.#comes) return;
    this.#comes = true;
    this.#lastTurnMs = this.#monotonicMs();
    this.#later(() => {
      this.#comes = false;
      this.#runNext();
      if (this.#first() !== null) this.#schedule();
      else this.#accounts.clear();
    });
  }

  #runNext(): void {
    const account = this.#first();
    const turn = account?.take() ?? null;
    if (account === null || turn === null) return;
    this.#virtualMs = account.startMs;
    const beganMs = this.#monotonicMs();
    this.#work[turn.kind](turn.held);
    const endedMs = this.#monotonicMs();
    account.startMs += Math.max(LEAST_MS, endedMs - beganMs);
    this.#lastTurnMs = endedMs;
    this.#forgetIdle();
  }

  /** Returns the account whose turn is next. */
  #first(): AccountQueue | null {
    let first: AccountQueue | null = null;
    for (const account of this.#accounts.values()) {
      if (!account.isEmpty && (first === null || account.startMs < first.startMs)) first = account;
    }
    return first;
  }

  /** Drops idle accounts once the others have used as much time. */
  #forgetIdle(): void {
    for (const [accountId, account] of this.#accounts) {
      if (account.isEmpty && account.startMs <= this.#virtualMs) this.#accounts.delete(accountId);
    }
  }
}
