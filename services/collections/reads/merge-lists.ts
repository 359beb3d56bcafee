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
  /** Position of `head` in `items`. */
  at: number;
  head: T;
}

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
    const { items } = list;
    const [head] = items;
    if (head !== undefined) heap.push({ list, items, at: 0, head });
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at, comesBefore);
  for (let [first] = heap; first !== undefined; [first] = heap) {
    const goesOn = take(first.head);
    if (!(typeof goesOn === 'boolean' ? goesOn : await goesOn)) return;
    first.at += 1;
    if (first.at === first.items.length) {
      first.items = await first.list.more();
      first.at = 0;
    }
    const head = first.items[first.at];
    if (head !== undefined) first.head = head;
    else {
      const last = heap.pop();
      if (last !== undefined && heap.length > 0) heap[0] = last;
    }
    sink(heap, 0, comesBefore);
  }
}

function sink<T>(heap: Cursor<T>[], from: number, comesBefore: ComesBefore<T>): void {
  let at = from;
  for (;;) {
    const sinking = heap[at];
    const left = heap[2 * at + 1];
    const right = heap[2 * at + 2];
    if (sinking === undefined || left === undefined) return;
    const isRight = right !== undefined && comesBefore(right.head, left.head);
    const rising = isRight ? right : left;
    if (!comesBefore(rising.head, sinking.head)) return;
    heap[at] = rising;
    at = 2 * at + (isRight ? 2 : 1);
    heap[at] = sinking;
  }
}
