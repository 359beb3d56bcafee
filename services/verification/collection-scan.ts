import { type Caller, call } from '../../contracts/actions/call.ts';
import { itemAt } from '../../lib/checked-access.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { type CollectionRoot, collectionRoot } from '../../lib/shard/collection-root.ts';
import { type Cut, isSameState } from '../../lib/shard/head.ts';
import type { RecomputedShard, RecordDifference } from '../../lib/shard/recomputed.ts';
import { shardSpecs } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../store/catalog.ts';
import type { ScanProgress } from './scan-progress.ts';

/** Allows for reading a whole collection. */
const SCAN_TIMEOUT_MS = 3_600_000;
const DIFFERENCES_MAX = 1_000;
/** Interval of keep-alive calls to scanned shards while others are still being scanned. */
const KEEP_EVERY_MS = INTERNAL_LIMITS.recomputeSessionIdleMaxMs / 3;

/**
 * A collection's state computed from stored bytes, all shards at the seqs of one cut, and what the
 * log recorded there.
 */
export class CollectionScan {
  #caller: Caller;
  #shards: RecomputedShard[];

  private constructor(caller: Caller, shards: RecomputedShard[]) {
    this.#caller = caller;
    this.#shards = shards;
  }

  /** Reads every record of the collection. Throws what the shards throw. */
  static async begin(caller: Caller, row: CollectionRow, progress: ScanProgress): Promise<CollectionScan> {
    const { run } = progress;
    const scanned: RecomputedShard[] = [];
    const keeping = setInterval(() => {
      // A session that expires is reported when its next page is read.
      for (const { session } of scanned) call(caller, 'shards.keep', { session }).catch(() => undefined);
    }, KEEP_EVERY_MS).unref();
    const scans = await Promise.allSettled(
      shardSpecs(row).map(async (shard) => {
        const recomputed = await call(caller, 'shards.recompute', { shard, run }, { timeout: SCAN_TIMEOUT_MS });
        scanned.push(recomputed);
        progress.reached(shard.index, recomputed.head.count);
        return recomputed;
      }),
    );
    clearInterval(keeping);
    const shards = scans.flatMap((scan) => (scan.status === 'fulfilled' ? [scan.value] : []));
    const failure = scans.find((scan) => scan.status === 'rejected');
    if (failure) {
      await new CollectionScan(caller, shards).release();
      throw failure.reason;
    }
    return new CollectionScan(caller, shards);
  }

  /** The root computed from the stored bytes. */
  get computed(): CollectionRoot {
    return collectionRoot(this.#shards.map(({ head }) => head));
  }

  /** The heads that the log recorded at the same seqs. */
  get recorded(): Cut {
    return this.#shards.map(({ recorded }) => recorded);
  }

  /** Whether the stored bytes match the roots and leaves recorded when they were written. */
  get intact(): boolean {
    return this.#shards.every(
      ({ head, recorded, differences }) => differences.length === 0 && isSameState(head, recorded),
    );
  }

  /** The seq of a log entry that is not what was appended; null if there is none. */
  get alteredEntry(): number | null {
    return this.#shards.find(({ altered }) => altered !== null)?.altered?.seq ?? null;
  }

  /** A contradiction found when a shard opened, whatever the store says now; null if none. */
  get contradiction(): string | null {
    return this.#shards.find(({ contradiction }) => contradiction !== null)?.contradiction ?? null;
  }

  get differences(): RecordDifference[] {
    const named = new Map<string, RecordDifference>();
    for (const { altered } of this.#shards)
      for (const id of altered?.ids ?? []) named.set(id, { id, what: 'an earlier write in the log' });
    for (const { differences } of this.#shards) for (const each of differences) named.set(each.id, each);
    return [...named.values()].slice(0, DIFFERENCES_MAX);
  }

  /** Whether a shard was scanned after a write that is not in `cut`: it cannot be compared. */
  isPast(cut: Cut): boolean {
    return this.#shards.some(({ head }, index) => head.version > itemAt(cut, index).version);
  }

  /** Applies the log to the scan up to the seqs of `cut`. */
  async extend(cut: Cut): Promise<void> {
    this.#shards = await Promise.all(
      this.#shards.map((shard, index) => {
        const { seq } = itemAt(cut, index);
        if (seq <= shard.head.seq) return shard;
        return call(this.#caller, 'shards.extend', { session: shard.session, seq }, { timeout: SCAN_TIMEOUT_MS });
      }),
    );
  }

  async release(): Promise<void> {
    const released = this.#shards.map(({ session }) => call(this.#caller, 'shards.release', { session }));
    await Promise.allSettled(released);
  }
}
