import type { ValueCount } from '../../../lib/filter/value-counts.ts';
import type { OrderedList } from './merge-lists.ts';

/** Names requested from a shard, relative to an even share: names are spread unevenly. */
const SHARE_FACTOR = 1.5;
const SPARE_NAMES = 16;

/** Reads the first `limit` names of a shard after a name; null: from the beginning. */
type ReadNames = (after: string | null, limit: number) => Promise<OrderedList<ValueCount>>;

/** Returns how many names to request from each shard first, for a page of `limit` names. */
export function namesAtOnce(limit: number, shards: number): number {
  return Math.min(limit, Math.ceil((limit / shards) * SHARE_FACTOR) + SPARE_NAMES);
}

/**
 * Returns the names of one shard after `after`, in order. Requests `atOnce` names first, and twice
 * as many each time the page needs more, so reading a page from all shards costs little more than
 * what it contains.
 */
export async function shardNames(
  read: ReadNames,
  after: string | null,
  atOnce: number,
): Promise<OrderedList<ValueCount>> {
  let list = await read(after, atOnce);
  let limit = atOnce;
  let left = limit - list.items.length;
  let last = after;
  const { items } = list;
  const noted = (found: ValueCount[]): ValueCount[] => {
    last = (found.at(-1)?.[0] as string | undefined) ?? last;
    return found;
  };
  noted(items);
  return {
    items,
    async more() {
      const found = await list.more();
      left -= found.length;
      if (found.length > 0 || left > 0) return noted(found);
      limit *= 2;
      list = await read(last, limit);
      left = limit - list.items.length;
      return noted(list.items);
    },
  };
}
