import { compareUtf8 } from '../../lib/records/utf8-order.ts';
import type { ShardMatch } from '../../lib/shard/match.ts';

/** Matches in rank order, some of them still to come. */
interface MatchList {
  matches: ShardMatch[];
  /** Those that come next; none at the end. */
  more(): Promise<ShardMatch[]>;
}

/** Whether `a` ranks before `b`: the higher score first, ties by id in the order of UTF-8 bytes. */
function ranksBefore(a: ShardMatch, b: ShardMatch): boolean {
  return a.score === b.score ? compareUtf8(a.id, b.id) < 0 : a.score > b.score;
}

/** A list and how far it has been read. */
interface Cursor {
  list: MatchList;
  matches: ShardMatch[];
  next: number;
}

const head = (cursor: Cursor): ShardMatch => cursor.matches[cursor.next];

/**
 * The first `topK` of lists that are each in rank order (k-way merge over a binary heap). Asks a
 * list for more only when it needs to know.
 */
export async function mergeMatches(lists: MatchList[], topK: number): Promise<ShardMatch[]> {
  const heap: Cursor[] = [];
  for (const list of lists) {
    const cursor = { list, matches: list.matches, next: 0 };
    if (cursor.matches.length > 0) heap.push(cursor);
  }
  for (let at = (heap.length >> 1) - 1; at >= 0; at--) sink(heap, at);
  const merged: ShardMatch[] = [];
  while (heap.length > 0) {
    const best = heap[0];
    merged.push(head(best));
    if (merged.length === topK) break;
    best.next += 1;
    if (best.next === best.matches.length) {
      best.matches = await best.list.more();
      best.next = 0;
    }
    if (best.matches.length === 0) {
      const last = heap.pop()!;
      if (heap.length > 0) heap[0] = last;
    }
    sink(heap, 0);
  }
  return merged;
}

function sink(heap: Cursor[], from: number): void {
  let at = from;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) return;
    const right = left + 1;
    const child = right < heap.length && ranksBefore(head(heap[right]), head(heap[left])) ? right : left;
    if (!ranksBefore(head(heap[child]), head(heap[at]))) return;
    [heap[at], heap[child]] = [heap[child], heap[at]];
    at = child;
  }
}
