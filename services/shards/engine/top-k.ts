import { compareUtf8 } from '../../../lib/records/utf8-order.ts';

/** Keeps the `k` best of what it is offered: by score, ties by id in the order of UTF-8 bytes. */
export class TopK {
  readonly #k: number;
  readonly #idOf: (slot: number) => string;
  /** A heap whose root is the worst kept. */
  #scores = new Float64Array(64);
  #slots = new Uint32Array(64);
  size = 0;
  #floor: number;

  constructor(k: number, scoreThreshold: number | null, idOf: (slot: number) => string) {
    this.#k = k;
    this.#idOf = idOf;
    this.#floor = scoreThreshold ?? Number.NEGATIVE_INFINITY;
  }

  /** A slot may be offered once only. */
  offer(slot: number, score: number): void {
    if (!(score >= this.#floor)) return;
    if (this.size < this.#k) {
      if (this.size === this.#slots.length) this.#grow();
      this.#up(this.size++, slot, score);
    } else if (this.#worse(this.#scores[0], this.#slots[0], score, slot)) {
      this.#down(slot, score);
    } else {
      return;
    }
    if (this.size === this.#k) this.#floor = this.#scores[0];
  }

  /**
   * Takes out the worst of those kept, of which there must be one; nothing may be offered
   * afterwards.
   */
  takeWorst(): { slot: number; score: number } {
    const worst = { slot: this.#slots[0], score: this.#scores[0] };
    const last = --this.size;
    if (last > 0) this.#down(this.#slots[last], this.#scores[last]);
    return worst;
  }

  #worse(scoreA: number, slotA: number, scoreB: number, slotB: number): boolean {
    return scoreA < scoreB || (scoreA === scoreB && compareUtf8(this.#idOf(slotA), this.#idOf(slotB)) > 0);
  }

  #up(from: number, slot: number, score: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#worse(score, slot, this.#scores[parent], this.#slots[parent])) break;
      this.#put(i, this.#slots[parent], this.#scores[parent]);
      i = parent;
    }
    this.#put(i, slot, score);
  }

  #down(slot: number, score: number): void {
    let i = 0;
    for (let child = 1; child < this.size; child = 2 * i + 1) {
      const right = child + 1;
      if (
        right < this.size &&
        this.#worse(this.#scores[right], this.#slots[right], this.#scores[child], this.#slots[child])
      ) {
        child = right;
      }
      if (!this.#worse(this.#scores[child], this.#slots[child], score, slot)) break;
      this.#put(i, this.#slots[child], this.#scores[child]);
      i = child;
    }
    this.#put(i, slot, score);
  }

  #put(i: number, slot: number, score: number): void {
    this.#slots[i] = slot;
    this.#scores[i] = score;
  }

  #grow(): void {
    const scores = new Float64Array(this.#scores.length * 2);
    scores.set(this.#scores);
    const slots = new Uint32Array(this.#slots.length * 2);
    slots.set(this.#slots);
    this.#scores = scores;
    this.#slots = slots;
  }
}
