import pLimit from 'p-limit';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { CollectionMemory, ShardMemoryView } from '../../../contracts/actions/collections.ts';
import { isProvecError } from '../../../lib/errors.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { shardSpecs } from '../../../lib/shard/spec.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { CheckpointStore } from '../../../store/checkpoints.ts';

/** Shards that one request asks at a time. */
const ASKED_AT_ONCE = 16;
/** Timeout in ms for one shard; after it the shard counts as unreachable. */
const SHARD_MAX_MS = 5_000;

/** Returns what each shard of a collection takes. Opens no shard. Throws StoreError. */
export async function collectionMemory(
  caller: Caller,
  checkpoints: Pick<CheckpointStore, 'list'>,
  row: CollectionRow,
): Promise<CollectionMemory> {
  const shards = await pLimit(ASKED_AT_ONCE).map(shardSpecs(row), async (shard): Promise<ShardMemoryView> => {
    const [{ state, memory }, saved] = await Promise.all([
      stateOf(caller, shard),
      checkpoints.list(shardKey(row.id, shard.index)),
    ]);
    const bytes = memory === null ? null : Object.values(memory.parts).reduce((sum, part) => sum + part, 0);
    const checkpointBytes = saved.reduce((sum, checkpoint) => sum + checkpoint.bytes, 0);
    return {
      shard: shard.index,
      state,
      bytes,
      ...(memory && { parts: memory.parts }),
      records: memory?.records ?? null,
      unindexed: memory?.unindexed ?? null,
      logBytes: memory?.logBytes ?? null,
      checkpointBytes,
    };
  });
  return { bytes: shards.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0), shards };
}

async function stateOf(caller: Caller, shard: ShardSpec): Promise<Pick<ShardMemoryView, 'state'> & { memory: Memory }> {
  try {
    const memory = await call(caller, 'shards.memory', { shard }, { timeout: SHARD_MAX_MS });
    return { state: memory === null ? 'closed' : 'open', memory };
  } catch (error) {
    if (isProvecError(error) && error.code !== 'UNAVAILABLE' && error.code !== 'SHARD_UNAVAILABLE') throw error;
    if (caller.signal?.aborted) throw error;
    return { state: 'unreachable', memory: null };
  }
}

type Memory = Awaited<ReturnType<typeof call<'shards.memory'>>>;
