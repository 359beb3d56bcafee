interface Event {
  atMs: number;
  order: number;
  isCancelled: boolean;
  run(): void;
}

/**
 * A virtual clock with the events that are due on it, in a binary heap. Events with equal times run
 * in insertion order.
 */
export abstract class Timeline {
  nowMs = 0;
  readonly #heap: Event[] = [];
  #order = 0;

  /** Calls `run` after `ms`, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void {
    const event = { atMs: this.nowMs + Math.max(0, ms), order: this.#order++, isCancelled: false, run };
    this.#push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Removes the next event due by `untilMs` and advances the clock to it; null if none is due. */
  protected next(untilMs: number): Event | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || (!first.isCancelled && first.atMs > untilMs)) return null;
      this.#pop();
      if (first.isCancelled) continue;
      this.nowMs = first.atMs;
      return first;
    }
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
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
