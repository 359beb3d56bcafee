/** Items in order, some of them still to come. */
export interface OrderedList<T> {
  items: T[];
  /** Those that come next; none at the end. */
  more(): Promise<T[]>;
}

/** Whether `a` comes before `b` in the order that the lists have. */
type ComesBefore<T> = (a: T, b: T) => boolean;

/** A list and how far it has been read. */
interface Cursor<T> {
  list: OrderedList<T>;
  items: T[];
  next: number;
}

const head = <T>(cursor: Cursor<T>): T => cursor.items[cursor.next];

/** The first `limit` of lists that are each in order. */
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
 * Hands `take` the items of lists that are each in order, in the order of all (k-way merge over a
 * binary heap), until it wants no more. Asks a list for more only when it needs to know.
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
