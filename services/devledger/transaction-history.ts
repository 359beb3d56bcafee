import type { TransactionRecord } from './ledger-state.ts';

/** How many transactions are remembered; a validator forgets old ones, too. */
const REMEMBERED = 10_000;

/** The newest transactions, by signature and by the addresses they name. */
export class TransactionHistory {
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #byAddress = new Map<string, string[]>();

  add(transaction: TransactionRecord): void {
    this.#bySignature.set(transaction.signature, transaction);
    for (const address of transaction.addresses) {
      const signatures = this.#byAddress.get(address);
      if (signatures) signatures.push(transaction.signature);
      else this.#byAddress.set(address, [transaction.signature]);
    }
    if (this.#bySignature.size > REMEMBERED) this.#forgetOldest();
  }

  find(signature: string): TransactionRecord | null {
    return this.#bySignature.get(signature) ?? null;
  }

  /**
   * Newest first: those between `before` and `until`, both left out; from the newest when `before`
   * is null.
   */
  ofAddress(address: string, limit: number, before: string | null, until: string | null): TransactionRecord[] {
    const newestFirst = (this.#byAddress.get(address) ?? []).toReversed();
    const from = before === null ? 0 : newestFirst.indexOf(before) + 1;
    if (before !== null && from === 0) return [];
    const end = until === null ? -1 : newestFirst.indexOf(until);
    return newestFirst
      .slice(from, end < 0 ? undefined : end)
      .slice(0, limit)
      .map((signature) => this.#bySignature.get(signature)!);
  }

  atSlot(slot: number): TransactionRecord | null {
    for (const transaction of this.#bySignature.values()) if (transaction.slot === slot) return transaction;
    return null;
  }

  /** Oldest first. */
  all(): Iterable<TransactionRecord> {
    return this.#bySignature.values();
  }

  #forgetOldest(): void {
    const [oldest] = this.#bySignature.values();
    if (!oldest) return;
    this.#bySignature.delete(oldest.signature);
    for (const address of oldest.addresses) {
      const signatures = this.#byAddress.get(address)!;
      signatures.shift();
      if (signatures.length === 0) this.#byAddress.delete(address);
    }
  }
}
