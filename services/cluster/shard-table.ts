import type { Caller } from '../../contracts/actions/call.ts';
import type { RowRange, ShardStatus, TablePage, Unreachable } from '../../contracts/actions/cluster.ts';
import { EMPTY_HEAD } from '../../lib/shard/head.ts';
import { parseShardKey, shardKey } from '../../lib/shard/key.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { Store } from '../../store/port.ts';
import { openShardsOn } from './node-calls.ts';
import { RowWindow } from './paging.ts';

interface Stored {
  row: CollectionRow;
  index: number;
  node: string | null;
  epoch: number;
  seq: number;
  records: number;
}

/**
 * Returns shards of one collection, or of all, with their holders' stats. `onlyNode` is the node of
 * a single process, which holds all shards without claims; null in a cluster.
 */
export async function shardTable(
  caller: Caller,
  store: Pick<Store, 'catalog' | 'owners' | 'log'>,
  { collection, onlyNode }: { collection: CollectionRow | null; onlyNode: string | null },
  slice: RowRange,
): Promise<TablePage<ShardStatus> & { unreachable: Unreachable[] }> {
  const window = new RowWindow(slice);
  const stored: Stored[] = [];
  const pages = collection === null ? store.catalog.allCollections() : [[collection]];
  walk: for await (const page of pages) {
    for (const row of page) {
      const { from, to } = window.next(row.shards);
      if (from < to)
        stored.push(
          ...(await storedShards(store, row, from, to)).map((one) => ({ ...one, node: onlyNode ?? one.node })),
        );
      if (window.isOver) break walk;
    }
  }
  const holders = stored.flatMap(({ node }) => (node === null ? [] : [node]));
  const { held, unreachable } = await openShardsOn(caller, holders);
  const rows = stored.map(({ row, index, node, epoch, seq, records }): ShardStatus => {
    const shard = shardKey(row.id, index);
    const open = held.get(`${node} ${shard}`);
    // The node's value may be newer than the one read from the store before.
    const newestSeq = Math.max(seq, open?.seq ?? 0);
    return {
      shard,
      collection: `${row.accountId}/${row.name}`,
      node,
      epoch,
      seq: newestSeq,
      records: open?.records ?? records,
      bytes: open?.bytes ?? null,
      followers: (open?.followers ?? []).map((follower) => ({
        node: follower.node,
        lag: follower.seq === null ? null : Math.max(0, newestSeq - follower.seq),
      })),
      state: node === null ? 'unclaimed' : unreachable.has(node) ? 'unreachable' : open ? 'open' : 'closed',
    };
  });
  return { rows, next: window.nextOffset, unreachable: [...unreachable].map(([node, error]) => ({ node, error })) };
}

async function storedShards(
  { owners, log }: Pick<Store, 'owners' | 'log'>,
  row: CollectionRow,
  from: number,
  to: number,
): Promise<Stored[]> {
  const [claims, heads] = await Promise.all([owners.list(row.id), log.heads(row.id)]);
  const byIndex = new Map(claims.map((claim) => [parseShardKey(claim.shard).index, claim]));
  return Array.from({ length: to - from }, (_, at) => {
    const index = from + at;
    const claim = byIndex.get(index);
    const { seq, count } = heads.get(index) ?? EMPTY_HEAD;
    return { row, index, node: claim?.holder?.node ?? null, epoch: claim?.epoch ?? 0, seq, records: count };
  });
}
