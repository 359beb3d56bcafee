import { float64At, uint32At } from '../../../lib/checked-access.ts';

/** Keeps the `k` closest slots it is offered, with ties broken by id in UTF-8 byte order. */
export class TopK {
  readonly #k: number;
  readonly #compareIds: (slotA: number, slotB: number) => number;
  /** A heap. Its root is the worst slot kept. */
  #closeness = new Float64Array(64);
  #slots = new Uint32Array(64);
  size = 0;
  #floor = Number.NEGATIVE_INFINITY;

  /** `compareIds` returns a negative number if the id in the first slot sorts first. */
  constructor(k: number, compareIds: (slotA: number, slotB: number) => number) {
    this.#k = k;
    this.#compareIds = compareIds;
  }

  /** Closeness of the worst slot kept; -Infinity until there are `k`. */
  get floor(): number {
    return this.#floor;
  }

  /** Offers a slot. Each slot may be offered only once. */
  offer(slot: number, closeness: number): void {
    if (!(closeness >= this.#floor)) return;
    if (this.size < this.#k) {
      if (this.size === this.#slots.length) this.#grow();
      this.#up(this.size++, slot, closeness);
    } else if (this.#isWorse(0, closeness, slot)) {
      this.#down(slot, closeness);
    } else {
      return;
    }
    if (this.size === this.#k) this.#floor = this.#closenessAt(0);
  }

  /** Removes and returns the worst slot; there must be one. Nothing may be offered afterwards. */
  takeWorst(): { slot: number; closeness: number } {
    const worst = { slot: this.#slotAt(0), closeness: this.#closenessAt(0) };
    const last = --this.size;
    if (last > 0) this.#down(this.#slotAt(last), this.#closenessAt(last));
    return worst;
  }

  #slotAt(i: number): number {
    return uint32At(this.#slots, i);
  }

  #closenessAt(i: number): number {
    return float64At(this.#closeness, i);
  }

  /** Whether the slot kept at `i` is worse than another one. */
  #isWorse(i: number, closeness: number, slot: number): boolean {
    const kept = this.#closenessAt(i);
    return kept < closeness || (kept === closeness && this.#compareIds(this.#slotAt(i), slot) > 0);
  }

  #up(from: number, slot: number, closeness: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (this.#isWorse(parent, closeness, slot)) break;
      this.#put(i, this.#slotAt(parent), this.#closenessAt(parent));
      i = parent;
    }
    this.#put(i, slot, closeness);
  }

  #down(slot: number, closeness: number): void {
    let i = 0;
    for (let child = 1; child < this.size; child = 2 * i + 1) {
      const right = child + 1;
      if (right < this.size && this.#isWorse(right, this.#closenessAt(child), this.#slotAt(child))) child = right;
      if (!this.#isWorse(child, closeness, slot)) break;
      this.#put(i, this.#slotAt(child), this.#closenessAt(child));
      i = child;
    }
    this.#put(i, slot, closeness);
  }

  #put(i: number, slot: number, closeness: number): void {
    this.#slots[i] = slot;
    this.#closeness[i] = closeness;
  }

  #grow(): void {
    const closenesses = new Float64Array(this.#closeness.length * 2);
    closenesses.set(this.#closeness);
    const slots = new Uint32Array(this.#slots.length * 2);
    slots.set(this.#slots);
    this.#closeness = closenesses;
    this.#slots = slots;
  }
}
