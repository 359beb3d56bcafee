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
    } else if (this.#worse(this.#closeness[0], this.#slots[0], closeness, slot)) {
      this.#down(slot, closeness);
    } else {
      return;
    }
    if (this.size === this.#k) this.#floor = this.#closeness[0];
  }

  /** Removes and returns the worst slot; there must be one. Nothing may be offered afterwards. */
  takeWorst(): { slot: number; closeness: number } {
    const worst = { slot: this.#slots[0], closeness: this.#closeness[0] };
    const last = --this.size;
    if (last > 0) this.#down(this.#slots[last], this.#closeness[last]);
    return worst;
  }

  #worse(closenessA: number, slotA: number, closenessB: number, slotB: number): boolean {
    return closenessA < closenessB || (closenessA === closenessB && this.#compareIds(slotA, slotB) > 0);
  }

  #up(from: number, slot: number, closeness: number): void {
    let i = from;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!this.#worse(closeness, slot, this.#closeness[parent], this.#slots[parent])) break;
      this.#put(i, this.#slots[parent], this.#closeness[parent]);
      i = parent;
    }
    this.#put(i, slot, closeness);
  }

  #down(slot: number, closeness: number): void {
    let i = 0;
    for (let child = 1; child < this.size; child = 2 * i + 1) {
      const right = child + 1;
      if (
        right < this.size &&
        this.#worse(this.#closeness[right], this.#slots[right], this.#closeness[child], this.#slots[child])
      ) {
        child = right;
      }
      if (!this.#worse(this.#closeness[child], this.#slots[child], closeness, slot)) break;
      this.#put(i, this.#slots[child], this.#closeness[child]);
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
