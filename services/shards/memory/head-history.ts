import { firstOf } from '../../../lib/checked-access.ts';
import { invalidHead, type ShardHead } from '../../../lib/shard/head.ts';

/** Maximum number of heads kept per shard, in addition to the head at the confirmed root. */
export const HEAD_HISTORY_MAX = 1_024;

/**
 * Heads of an open shard at the seqs it passed in memory. They are compared with roots on the
 * ledger, because what the store reports later proves nothing. Keeps the newest 1,024 heads after
 * the confirmed one; older heads are not needed.
 */
export class HeadHistory {
  #anchored: ShardHead | null;
  /**
   * Contradiction found in the stored bytes when the shard opened, as a sentence. Null if there was
   * none or an operator has resumed the collection since.
   */
  contradiction: string | null;
  readonly #recent = new Map<number, ShardHead>();

  /**
   * `anchored` is the head at the confirmed root, `passed` the heads after it, oldest first, and
   * `contradiction` the one found in the stored bytes, as a sentence.
   */
  constructor(anchored: ShardHead | null, passed: readonly ShardHead[], contradiction: string | null) {
    this.#anchored = anchored;
    this.contradiction = contradiction;
    for (const head of passed) this.add(head);
  }

  /** Notes that an operator declared the shard's content right. */
  resumed(): void {
    this.contradiction = null;
  }

  add(head: ShardHead): void {
    this.#recent.set(head.seq, head);
    if (this.#recent.size > HEAD_HISTORY_MAX) this.#recent.delete(firstOf(this.#recent.keys()));
  }

  /**
   * Returns the head at `seq`, or null if it is unknown. While there is a contradiction, returns a
   * head that matches no shard (`isUnsound`).
   */
  at(seq: number): ShardHead | null {
    if (this.contradiction !== null) return invalidHead(seq);
    return this.#anchored?.seq === seq ? this.#anchored : (this.#recent.get(seq) ?? null);
  }

  /** Notes that the root at `seq` was confirmed, and drops earlier heads. */
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
