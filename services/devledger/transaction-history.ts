import type { TransactionContent, TransactionRecord } from './ledger-state.ts';

/** Record that has its transaction. */
export type KeptTransaction = TransactionRecord & { content: TransactionContent };

export interface SignaturePage {
  limit: number;
  /** Starts after this signature; default: at the newest transaction. */
  before?: string | null;
  /** Ends before this signature. */
  until?: string | null;
}

/** Newest transactions, by signature, by slot and by address. */
export class TransactionHistory {
  readonly #capacity: number;
  /** Oldest first. */
  readonly #bySignature = new Map<string, TransactionRecord>();
  readonly #bySlot = new Map<number, KeptTransaction>();
  readonly #byAddress = new Map<string, KeptTransaction[]>();
  #firstSlot: number;
  #newest: KeptTransaction | null = null;

  /** Keeps up to `capacity` transactions. `firstSlot` is the ledger's first slot. */
  constructor(capacity: number, firstSlot: number) {
    this.#capacity = capacity;
    this.#firstSlot = firstSlot;
  }

  get size(): number {
    return this.#bySignature.size;
  }

  /** First slot from which no transaction is missing. */
  get firstSlot(): number {
    const [oldest] = this.#bySignature.values();
    const mayLack = oldest !== undefined && this.size >= this.#capacity;
    return mayLack ? Math.max(this.#firstSlot, oldest.slot) : this.#firstSlot;
  }

  get(signature: string): TransactionRecord | null {
    return this.#bySignature.get(signature) ?? null;
  }

  /** Returns the transaction of a slot, which has at most one. */
  at(slot: number): KeptTransaction | null {
    return this.#bySlot.get(slot) ?? null;
  }

  get newest(): KeptTransaction | null {
    return this.#newest;
  }

  all(): Iterable<TransactionRecord> {
    return this.#bySignature.values();
  }

  /** Adds the newest transaction and drops the oldest above the capacity. */
  add(record: TransactionRecord): void {
    this.#bySignature.set(record.signature, record);
    if (isKept(record)) {
      this.#newest = record;
      this.#bySlot.set(record.slot, record);
      for (const address of new Set(record.content.addresses)) {
        const known = this.#byAddress.get(address);
        if (known) known.push(record);
        else this.#byAddress.set(address, [record]);
      }
    } else this.#firstSlot = record.slot + 1;
    if (this.size > this.#capacity) this.#forgetOldest();
  }

  /** Returns the transactions that name an address, newest first; none if `before` is unknown. */
  of(address: string, { limit, before, until }: SignaturePage): KeptTransaction[] {
    const known = this.#byAddress.get(address) ?? [];
    const end = before ? known.findIndex(({ signature }) => signature === before) : known.length;
    const last = until ? known.findIndex(({ signature }) => signature === until) : -1;
    return known.slice(Math.max(last + 1, end - limit, 0), Math.max(end, 0)).reverse();
  }

  #forgetOldest(): void {
    const [oldest] = this.#bySignature.values();
    this.#bySignature.delete(oldest!.signature);
    if (!isKept(oldest!)) return;
    this.#bySlot.delete(oldest.slot);
    for (const address of new Set(oldest.content.addresses)) {
      const known = this.#byAddress.get(address)!;
      known.shift();
      if (known.length === 0) this.#byAddress.delete(address);
    }
  }
}

const isKept = (record: TransactionRecord): record is KeptTransaction => record.content !== undefined;
