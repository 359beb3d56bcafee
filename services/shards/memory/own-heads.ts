import { type ShardHead, unsoundHead } from '../../../lib/shard/head.ts';

/** Of one shard, kept beside the one at the confirmed root. */
export const OWN_HEADS_MAX = 1_024;

/**
 * What an open shard was at the seqs that it passed in memory, for whoever holds it against a root
 * on the ledger: what the store says of them later proves nothing. Of those after the confirmed one
 * the newest 1,024 are kept; those before are of no use.
 */
export class OwnHeads {
  #anchored: ShardHead | null;
  /**
   * Null where nothing stood against the stored bytes when it opened, or an operator has decided
   * since.
   */
  contradiction: string | null;
  readonly #recent = new Map<number, ShardHead>();

  /**
   * `anchored`: at the confirmed root; `passed`: after it, oldest first; `contradiction`: what
   * stood against the stored bytes, one sentence.
   */
  constructor(anchored: ShardHead | null, passed: readonly ShardHead[], contradiction: string | null) {
    this.#anchored = anchored;
    this.contradiction = contradiction;
    for (const head of passed) this.add(head);
  }

  /** An operator has decided that what the shard holds is right. */
  resumed(): void {
    this.contradiction = null;
  }

  add(head: ShardHead): void {
    this.#recent.set(head.seq, head);
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > OWN_HEADS_MAX) this.#recent.delete(oldest!);
  }

  /**
   * Null where it is not known any more, or never was; the state of no shard (`isUnsound`) while
   * its stored bytes stand against it.
   */
  at(seq: number): ShardHead | null {
    if (this.contradiction !== null) return unsoundHead(seq);
    return this.#anchored?.seq === seq ? this.#anchored : (this.#recent.get(seq) ?? null);
  }

  /** The root at `seq` was confirmed: nobody asks for earlier ones. */
  confirmed(seq: number): void {
    const head = this.#recent.get(seq);
    if (!head) return;
    this.#anchored = head;
    for (const passed of this.#recent.keys()) {
      if (passed > seq) return;
      this.#recent.delete(passed);
    }
  }
}
