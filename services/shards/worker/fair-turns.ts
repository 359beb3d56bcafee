import type { HeldShard } from './held-shard.ts';

/** What a turn may be for, in the order in which an account's kinds of work follow each other. */
const KINDS = ['query', 'stage', 'maintain'] as const;
export type TurnKind = (typeof KINDS)[number];

/** One slice of each kind of work, without waiting. */
export type TurnWork = { readonly [kind in TurnKind]: (held: HeldShard) => void };

/** What each turn counts for at least: many short ones are work, too. */
const LEAST_MS = 0.1;
/** So long requests may keep a turn waiting: they come before it, up to a thousand of them. */
const OVERDUE_MS = 8;

/** The shards of one account that want a turn. */
class AccountTurns {
  /** Virtual time at which its next turn begins. */
  startMs: number;
  readonly #waiting: Readonly<Record<TurnKind, Set<HeldShard>>> = {
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

  add(kind: TurnKind, held: HeldShard): void {
    this.#waiting[kind].add(held);
  }

  delete(held: HeldShard): void {
    for (const kind of KINDS) this.#waiting[kind].delete(held);
  }

  /** Takes out the next: the kinds take turns, and so do the shards in each. */
  take(): { kind: TurnKind; held: HeldShard } | null {
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
 * Whose turn it is on the thread, in slices of milliseconds.
 *
 * Promises: accounts take turns by the time that their turns took. However many shards one account
 * keeps busy, its turns get no more of the thread than another's. What an account's requests and
 * the first slices of its queries took counts as well. Within an account, kinds of work take turns,
 * and so do shards. After each turn the requests that came meanwhile run, for 8 ms where there are
 * many.
 * What it does not do: nobody is charged for recomputing for a verify.
 * See docs/internals/shard.md.
 */
export class FairTurns {
  readonly #later: (run: () => void) => void;
  readonly #monotonicMs: () => number;
  readonly #work: TurnWork;
  readonly #accounts = new Map<string, AccountTurns>();
  #virtualMs = 0;
  #comes = false;
  #lastTurnMs = 0;

  /** `later` runs what it is given once the requests that came meanwhile are answered. */
  constructor(later: (run: () => void) => void, monotonicMs: () => number, work: TurnWork) {
    this.#later = later;
    this.#monotonicMs = monotonicMs;
    this.#work = work;
  }

  /** Whether any shard waits for a turn of a kind. */
  has(kind: TurnKind): boolean {
    for (const account of this.#accounts.values()) if (account.has(kind)) return true;
    return false;
  }

  /** Gives the shard a turn, if it does not wait for one of that kind. */
  give(kind: TurnKind, held: HeldShard): void {
    this.#accountOf(held).add(kind, held);
    this.#come();
  }

  /** Counts what a shard's requests took outside of its turns, while anybody waits for one. */
  charge(held: HeldShard, tookMs: number): void {
    if (this.#comes) this.#accountOf(held).startMs += tookMs;
  }

  /** Takes a turn if one has waited for long; to be called after each request. */
  takeOverdue(): void {
    if (this.#comes && this.#monotonicMs() - this.#lastTurnMs >= OVERDUE_MS) this.#take();
  }

  /** Takes the shard's turns away. */
  leave(held: HeldShard): void {
    this.#accounts.get(held.shard.spec.accountId)?.delete(held);
  }

  #accountOf(held: HeldShard): AccountTurns {
    const { accountId } = held.shard.spec;
    const known = this.#accounts.get(accountId);
    if (known !== undefined) {
      // What it did not use while it wanted nothing is not saved up.
      if (known.isEmpty) known.startMs = Math.max(known.startMs, this.#virtualMs);
      return known;
    }
    const account = new AccountTurns(this.#virtualMs);
    this.#accounts.set(accountId, account);
    return account;
  }

  #come(): void {
    if (this.#comes) return;
    this.#comes = true;
    this.#lastTurnMs = this.#monotonicMs();
    this.#later(() => {
      this.#comes = false;
      this.#take();
      if (this.#first() !== null) this.#come();
      else this.#accounts.clear();
    });
  }

  #take(): void {
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

  /** The account whose turn it is. */
  #first(): AccountTurns | null {
    let first: AccountTurns | null = null;
    for (const account of this.#accounts.values()) {
      if (!account.isEmpty && (first === null || account.startMs < first.startMs)) first = account;
    }
    return first;
  }

  /** What an account used counts until the others have used as much. */
  #forgetIdle(): void {
    for (const [accountId, account] of this.#accounts) {
      if (account.isEmpty && account.startMs <= this.#virtualMs) this.#accounts.delete(accountId);
    }
  }
}
