/**
 * Who holds how much of something that all accounts share.
 *
 * One account may hold `factor` times what it leaves free: with 2, one account alone two thirds,
 * two accounts two fifths each. So something is always left for an account that comes with nothing,
 * and nothing need be set aside for each. Source: Choudhury and Hahne, "Dynamic Queue Length
 * Thresholds for Shared-Memory Packet Switches" (1998).
 */
export class Shares {
  readonly #factor: number;
  readonly #max: number;
  readonly #held = new Map<string, number>();
  /** What all accounts hold. */
  total = 0;

  /** `factor` infinite: an account may hold all; `max`: what there is, where that does not vary. */
  constructor(factor: number, max = Number.POSITIVE_INFINITY) {
    this.#factor = factor;
    this.#max = max;
  }

  of(account: string): number {
    return this.#held.get(account) ?? 0;
  }

  /**
   * Whether an account that holds something may hold `amount` more of `max`, given that it fits at
   * all.
   */
  admits(account: string, amount: number, max: number): boolean {
    const own = this.of(account);
    if (own === 0 || this.#factor === Number.POSITIVE_INFINITY) return true;
    return own + amount <= this.#factor * (max - this.total - amount);
  }

  /** Whether an account may hold `amount` more; where nobody holds anything it may. */
  fits(account: string, amount: number): boolean {
    const max = this.#max;
    return this.total === 0 || (this.total + amount <= max && this.admits(account, amount, max));
  }

  /** `amount` is negative for what is given back. */
  add(account: string, amount: number): void {
    const held = this.of(account) + amount;
    if (held === 0) this.#held.delete(account);
    else this.#held.set(account, held);
    this.total += amount;
  }
}
