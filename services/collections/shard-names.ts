import type { ValueCount } from '../../lib/filter/value-counts.ts';
import type { OrderedList } from './merge-lists.ts';

/** What a shard is asked for beyond its share, as names are spread unevenly. */
const SHARE_FACTOR = 1.5;
const SPARE_NAMES = 16;

/** Reads the first `limit` names of a shard that come after a name; null: of all. */
type ReadNames = (after: string | null, limit: number) => Promise<OrderedList<ValueCount>>;

/** How many names each of `shards` is asked for at first, where an answer has `limit` in all. */
export function namesAtOnce(limit: number, shards: number): number {
  return Math.min(limit, Math.ceil((limit / shards) * SHARE_FACTOR) + SPARE_NAMES);
}

/**
 * The names of one shard after `after`, in order. The shard tells `atOnce` of them, and twice as
 * many each time that the answer needs more: a page of all shards then costs about what it holds.
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
