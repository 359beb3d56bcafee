/**
 * Makes a claim hold against every earlier holder of the shard: appends an entry of kind `open`
 * under the new epoch at the next free seq of the log.
 *
 * Promises: when it resolves, no entry of an earlier epoch can be committed any more. The returned
 * head is the log's at the `open` entry: everything that was ever acknowledged stands at or before
 * it.
 * How it fails: ShardMoved on an entry of a later epoch. StoreError when the store cannot say; then
 * the claim has to be made again under a new epoch.
 * See docs/internals/ownership.md.
 */
import type { ShardHead } from '../../../../lib/shard/head.ts';
import { EMPTY_HEAD } from '../../../../lib/shard/head.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';
import { ShardMoved } from '../../../../lib/shard/moved.ts';
import type { LogEntry, ShardLog } from '../../../../lib/store/log.ts';
import type { OwnerStore } from '../../../../lib/store/owners.ts';
import { StoreError } from '../../../../lib/store/port.ts';

/** More late entries than this cannot be in flight: each earlier holder has one. */
const COLLISIONS_MAX = 64;

/** Commits the `open` entry of `epoch`; throws ShardMoved or StoreError. */
export async function fence(
  { log, owners }: { log: ShardLog; owners: OwnerStore },
  shard: ShardKey,
  epoch: number,
  newEntryId: () => string,
): Promise<ShardHead> {
  for (let collisions = 0; collisions < COLLISIONS_MAX; collisions++) {
    const newest = (await log.head(shard)) ?? EMPTY_HEAD;
    // In this order: whoever claims the shard after this look finds the seq below taken, or takes
    // it first.
    const row = await owners.get(shard);
    if (row?.epoch !== epoch) throw new ShardMoved(row?.holder?.node ?? null);
    const head = { ...newest, seq: newest.seq + 1 };
    const entry = { shard, seq: head.seq, epoch, entryId: newEntryId(), kind: 'open', head, tally: null } as const;
    if (await commit(log, { ...entry, body: new Uint8Array(0) })) return head;
  }
  throw new StoreError('unavailable', 'The log of a shard grows faster than it can be claimed.');
}

/**
 * Whether the entry stands in the log now; false when another one has its seq, which is not of a
 * later epoch.
 */
async function commit(log: ShardLog, entry: LogEntry): Promise<boolean> {
  try {
    if ((await log.append(entry)) === 'committed') return true;
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'unknown') throw error;
  }
  const [there] = await log.read(entry.shard, entry.seq - 1, 1);
  // Nothing there after an unknown outcome: whether it still comes or not, it is tried again with
  // the next one, and one of the two wins.
  if (there === undefined || there.seq !== entry.seq) return false;
  if (there.entryId === entry.entryId) return true;
  if (there.epoch > entry.epoch) throw new ShardMoved(null);
  return false;
}
