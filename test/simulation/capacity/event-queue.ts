interface Event {
  atMs: number;
  order: number;
  run(): void;
}

/**
 * A virtual clock for millions of events (a binary heap, without promises). Events with equal times
 * run in insertion order.
 */
export class EventQueue {
  nowMs = 0;
  readonly #heap: Event[] = [];
  #order = 0;
  #ran = 0;

  /** Number of events that have run. */
  get ran(): number {
    return this.#ran;
  }

  monotonicMs(): number {
    return this.nowMs;
  }

  after(ms: number, run: () => void): void {
    const heap = this.#heap;
    const event = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, run };
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  run(untilMs: number): void {
    for (let event = this.#heap[0]; event !== undefined && event.atMs <= untilMs; event = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = event.atMs;
      this.#ran++;
      event.run();
    }
    this.nowMs = untilMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
