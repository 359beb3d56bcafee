import type { CollectionRow } from '../store/catalog.ts';
import type { ShardLog } from '../store/log.ts';
import { type Cut, EMPTY_HEAD } from './head.ts';

/**
 * Heads of all shards of a collection as the log holds them: every acknowledged write is in it, and
 * no shard is opened.
 */
export async function committedCut(
  log: Pick<ShardLog, 'heads'>,
  { id, shards }: Pick<CollectionRow, 'id' | 'shards'>,
): Promise<Cut> {
  const heads = await log.heads(id);
  return Array.from({ length: shards }, (_, index) => heads.get(index) ?? EMPTY_HEAD);
}
