/** Ordered items that are read in batches. */
export interface OrderedList<T> {
  items: T[];
  /** Reads the next items; none at the end. */
  more(): Promise<T[]>;
}

type ComesBefore<T> = (a: T, b: T) => boolean;

interface Cursor<T> {
  list: OrderedList<T>;
  items: T[];
  next: number;
}

const head = <T>(cursor: Cursor<T>): T => cursor.items[cursor.next];

/** Returns the first `limit` items of several ordered lists, in order. */
export async function mergeLists<T>(
  lists: readonly OrderedList<T>[],
  limit: number,
  comesBefore: ComesBefore<T>,
): Promise<T[]> {
  const merged: T[] = [];
  await mergeInto(lists, comesBefore, (item) => {
    merged.push(item);
    return merged.length < limit;
  });
  return merged;
}

/**
 * Passes the items of several ordered lists to `take`, in overall order, until it returns false.
 * This is a k-way merge over a binary heap. Reads more of a list only when its next item is needed.
 */
export async function mergeInto<T>(
  lists: readonly OrderedList<T>[],
  comesBefore: ComesBefore<T>,
  take: (item: T) => boolean | Promise<boolean>,
): Promise<void> {
  const heap: Cursor<T>[] = [];
  for (const list of lists) {
    const cursor = { list, items: list.items, next: 0 };
    if (cursor.items.length > 0) heap.push(cursor);
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at, comesBefore);
  while (heap.length > 0) {
    const first = heap[0];
    const goesOn = take(head(first));
    if (!(typeof goesOn === 'boolean' ? goesOn : await goesOn)) return;
    first.next += 1;
    if (first.next === first.items.length) {
      first.items = await first.list.more();
      first.next = 0;
    }
    if (first.items.length === 0) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    sink(heap, 0, comesBefore);
  }
}

function sink<T>(heap: Cursor<T>[], from: number, comesBefore: ComesBefore<T>): void {
  let at = from;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const child = right < heap.length && comesBefore(head(heap[right]), head(heap[left])) ? right : left;
    if (!comesBefore(head(heap[child]), head(heap[at]))) return;
    [heap[at], heap[child]] = [heap[child], heap[at]];
    at = child;
  }
}
