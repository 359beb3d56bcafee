/**
 * Fences out every earlier holder of a shard: appends an entry of kind `open` under the new epoch
 * at the next free seq of the log.
 *
 * Guarantees: once it resolves, no entry of an earlier epoch can be committed. The returned head is
 * that of the `open` entry; every acknowledged write is at or before it. On failure: throws
 * ShardMoved if an entry has a later epoch, and StoreError if the outcome is unknown; then claim
 * the shard again under a new epoch. See docs/internals/ownership.md.
 */
import type { ShardHead } from '../../../../lib/shard/head.ts';
import { EMPTY_HEAD } from '../../../../lib/shard/head.ts';
import type { ShardKey } from '../../../../lib/shard/key.ts';
import { ShardMoved } from '../../../../lib/shard/moved.ts';
import type { LogEntry, ShardLog } from '../../../../store/log.ts';
import type { OwnerStore } from '../../../../store/owners.ts';
import { StoreError } from '../../../../store/port.ts';

/**
 * Maximum number of late appends to collide with. Each earlier holder has at most one in flight.
 */
const COLLISIONS_MAX = 64;

/** Commits the `open` entry of `epoch`. Throws ShardMoved or StoreError. */
export async function fence(
  { log, owners }: { log: ShardLog; owners: OwnerStore },
  shard: ShardKey,
  epoch: number,
  newEntryId: () => string,
): Promise<ShardHead> {
  for (let collisions = 0; collisions < COLLISIONS_MAX; collisions++) {
    const newest = (await log.head(shard)) ?? EMPTY_HEAD;
    // The head must be read before the owner's row: a later claimant then either finds this seq
    // taken or takes it first.
    const row = await owners.get(shard);
    if (row?.epoch !== epoch) throw new ShardMoved(row?.holder?.node ?? null);
    const head = { ...newest, seq: newest.seq + 1 };
    const entry = { shard, seq: head.seq, epoch, entryId: newEntryId(), kind: 'open', head, tally: null } as const;
    if (await commit(log, { ...entry, body: new Uint8Array(0) })) return head;
  }
  throw new StoreError('unavailable', 'The log of a shard grows faster than it can be claimed.');
}

/**
 * Returns whether this entry is in the log. Throws ShardMoved if an entry of a later epoch has its
 * seq.
 */
async function commit(log: ShardLog, entry: LogEntry): Promise<boolean> {
  try {
    if ((await log.append(entry)) === 'committed') return true;
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'unknown') throw error;
  }
  const [there] = await log.read(entry.shard, entry.seq - 1, 1);
  // The outcome is unknown and the seq is still free. The caller appends again; whether or not the
  // first append arrives late, only one of the two can win.
  if (there === undefined || there.seq !== entry.seq) return false;
  if (there.entryId === entry.entryId) return true;
  if (there.epoch > entry.epoch) throw new ShardMoved(null);
  return false;
}
