/**
 * Tracks how much of a shared resource each account holds.
 *
 * An account may hold `factor` times the amount that is left free. With a factor of 2, a single
 * account may hold two thirds, and two accounts two fifths each. So there is always room for an
 * account that holds nothing, without a fixed reserve per account. Source: Choudhury and Hahne,
 * "Dynamic Queue Length Thresholds for Shared-Memory Packet Switches" (1998).
 */
export class FairShares {
  readonly #factor: number;
  readonly #max: number;
  readonly #held = new Map<string, number>();
  /** Amount that all accounts hold together. */
  total = 0;

  /** An infinite `factor` lets one account hold everything. `max`: the capacity, if fixed. */
  constructor(factor: number, max = Number.POSITIVE_INFINITY) {
    this.#factor = factor;
    this.#max = max;
  }

  of(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  /**
   * Whether the account's share of `max`, and `ownMax`, allow `amount` more. Does not check the
   * total.
   */
  admits(account: string, amount: number, max: number, ownMax = max): boolean {
    const own = this.of(account);
    if (own === 0 || this.#factor === Number.POSITIVE_INFINITY) return true;
    return own + amount <= Math.min(ownMax, this.#factor * (max - this.total - amount));
  }

  /** Whether an account may hold `amount` more. Always true while no account holds anything. */
  fits(account: string, amount: number): boolean {
    const max = this.#max;
    return this.total === 0 || (this.total + amount <= max && this.admits(account, amount, max));
  }

  /** Adds `amount`, or gives back a negative one. */
  add(account: string, amount: number): void {
    const held = this.of(account) + amount;
    if (held === 0) this.#held.delete(account);
    else this.#held.set(account, held);
    this.total += amount;
  }
}
