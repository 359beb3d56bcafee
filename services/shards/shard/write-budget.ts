import { Shares } from '../../../lib/admission/fair-share.ts';

/** An account may hold twice of what it leaves to others. */
const SHARE_FACTOR = 2;

/**
 * Bounds the bytes of all writes that wait or run on a node, and what one account's may take of
 * them: however many collections a tenant floods, another's upsert is neither refused for it nor
 * told that memory is used up.
 */
export class WriteBudget {
  readonly #maxBytes: number;
  readonly #shares = new Shares(SHARE_FACTOR);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** That wait or run now. */
  get bytes(): number {
    return this.#shares.total;
  }

  /** Whether an upsert of an account may wait beside what does; the only one always may. */
  admits(accountId: string, bytes: number): boolean {
    const { total } = this.#shares;
    if (total === 0) return true;
    return total + bytes <= this.#maxBytes && this.#shares.admits(accountId, bytes, this.#maxBytes);
  }

  /** `changeBytes` is negative for what does not wait any more. */
  add(accountId: string, changeBytes: number): void {
    this.#shares.add(accountId, changeBytes);
  }
}
