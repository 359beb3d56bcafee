import type { ShardSpec } from '../../../lib/actions/shards.ts';
import { shardAway } from '../../../lib/shard/shard-away.ts';
import type { ShardWorker } from '../worker/pool.ts';

/** How a shard is used. */
export interface Use {
  /** Where it opens; default: the worker with the least to do. */
  on?: ShardWorker | undefined;
  /** How long its opening may take, in milliseconds; default: as long as it takes. */
  openMaxMs?: number | undefined;
}

/** Resolves when the shard is open; throws what its opening throws, or SHARD_UNAVAILABLE where that takes longer than `openMaxMs`: it goes on by itself then. */
export async function opened(opening: Promise<unknown>, { openMaxMs }: Use, { index }: ShardSpec): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (openMaxMs !== undefined) timer = setTimeout(() => reject(shardAway(index, 'is being opened')), openMaxMs);
  });
  try {
    await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}
