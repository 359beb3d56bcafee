import { firstOf, getOrThrow } from '../../lib/checked-access.ts';
import type { TransactionRecord } from './ledger-state.ts';

export interface SignaturePage {
  limit: number;
  /** Starts after this signature; default: at the newest transaction. */
  before?: string | null;
  /** Ends before this signature. */
  until?: string | null;
}

/**
 * Newest transactions, by signature, by slot and by address. Transactions of some payers have a
 * bound of their own, so those of other processes cannot displace them.
 */
export class TransactionHistory {
  readonly #capacity: number;
  readonly #payers: Set<string>;
  /** Oldest first, as in the two sets that it consists of. */
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #own = new Set<TransactionRecord>();
  readonly #others = new Set<TransactionRecord>();
  readonly #bySlot = new Map<number, TransactionRecord>();
  readonly #byAddress = new Map<string, TransactionRecord[]>();
  readonly #firstSlot: number;
  #newest: TransactionRecord | null = null;

  /**
   * Keeps up to `capacity` transactions that `payers` pay for, and as many others. `firstSlot` is
   * the ledger's first slot.
   */
  constructor(capacity: number, firstSlot: number, payers: Iterable<string> = []) {
    this.#capacity = capacity;
    this.#firstSlot = firstSlot;
    this.#payers = new Set(payers);
  }

  get size(): number {
    return this.#bySignature.size;
  }

  /** First slot from which no transaction is missing. */
  get firstSlot(): number {
    const full = [this.#own, this.#others].filter(({ size }) => size > 0 && size >= this.#capacity);
    return Math.max(this.#firstSlot, ...full.map((kept) => firstOf(kept).slot));
  }

  get payers(): ReadonlySet<string> {
    return this.#payers;
  }

  /** Keeps the transactions of this payer apart from now on, and those that are there. */
  keepOf(payer: string): void {
    this.#payers.add(payer);
    this.#own.clear();
    this.#others.clear();
    for (const record of [...this.#bySignature.values()]) this.#keep(record);
  }

  get(signature: string): TransactionRecord | null {
    return this.#bySignature.get(signature) ?? null;
  }

  /** Returns the transaction of a slot, which has at most one. */
  at(slot: number): TransactionRecord | null {
    return this.#bySlot.get(slot) ?? null;
  }

  get newest(): TransactionRecord | null {
    return this.#newest;
  }

  all(): Iterable<TransactionRecord> {
    return this.#bySignature.values();
  }

  /** Adds the newest transaction and drops the oldest above the capacity. */
  add(record: TransactionRecord): void {
    this.#bySignature.set(record.signature, record);
    this.#newest = record;
    this.#bySlot.set(record.slot, record);
    for (const address of new Set(record.content.addresses)) {
      const known = this.#byAddress.get(address);
      if (known) known.push(record);
      else this.#byAddress.set(address, [record]);
    }
    this.#keep(record);
  }

  /** Returns the transactions that name an address, newest first; none if `before` is unknown. */
  of(address: string, { limit, before, until }: SignaturePage): TransactionRecord[] {
    const known = this.#byAddress.get(address) ?? [];
    const end = before ? known.findIndex(({ signature }) => signature === before) : known.length;
    const last = until ? known.findIndex(({ signature }) => signature === until) : -1;
    return known.slice(Math.max(last + 1, end - limit, 0), Math.max(end, 0)).reverse();
  }

  #keep(record: TransactionRecord): void {
    const isOwn = this.#payers.has(record.content.addresses[0] ?? '');
    const kept = isOwn ? this.#own : this.#others;
    kept.add(record);
    if (kept.size <= this.#capacity) return;
    const oldest = firstOf(kept);
    kept.delete(oldest);
    this.#forget(oldest);
  }

  #forget(record: TransactionRecord): void {
    this.#bySignature.delete(record.signature);
    this.#bySlot.delete(record.slot);
    for (const address of new Set(record.content.addresses)) {
      const known = getOrThrow(this.#byAddress, address);
      known.splice(known.indexOf(record), 1);
      if (known.length === 0) this.#byAddress.delete(address);
    }
  }
}
