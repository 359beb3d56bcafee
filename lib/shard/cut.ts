import assert from 'node:assert/strict';
import type { Cut } from './shard-head.ts';

/** The newer head of every shard: a state that contains all that either cut contains. */
export function mergeCuts(left: Cut, right: Cut): Cut {
  assert(left.length === right.length, 'cuts of one collection have as many shards');
  return left.map((head, index) => (head.seq >= right[index].seq ? head : right[index]));
}

/** Whether every write behind `inner` is behind `outer`, too. */
export function contains(outer: Cut, inner: Cut): boolean {
  assert(outer.length === inner.length, 'cuts of one collection have as many shards');
  return outer.every((head, index) => head.version >= inner[index].version);
}
