/**
 * Decides when a shard is checkpointed and how far its log may be trimmed.
 *
 * Guarantees: the log is never trimmed past the seq applied to the materialised records, nor while
 * a scan needs it (`pin`). Entries are audited before they are trimmed; one that differs from what
 * was appended is a contradiction. While a shard has a contradiction, its log and checkpoints are
 * kept. On failure: the staged files are discarded and the log stays longer. The next attempt comes
 * after a growing pause, or when the shard closes. See docs/internals/shard.md.
 */

import { getOrThrow } from '../../../lib/checked-access.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { collectGarbage } from '../../../process/garbage.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import type { ShardActor } from './actor.ts';
import { anchoredBound } from './anchored-bound.ts';
import type { Materialiser } from './materialiser.ts';

/**
 * Number of records below which a shard has no index worth saving and opens just as fast from its
 * records.
 */
const CHECKPOINT_MIN_RECORDS = 2_000;
const TAIL_MAX_BYTES = 64 * 2 ** 20;
/**
 * Size of the log tail beyond which a checkpoint is taken even though the index is still being
 * built.
 */
const TAIL_URGENT_BYTES = 4 * TAIL_MAX_BYTES;
const SMALL_TAIL_MAX_BYTES = 4 * 2 ** 20;
/** Sizes of a shard and of its log tail up to which it opens quickly. */
const QUICK_MAX_BYTES = 2 ** 20;
const QUICK_MAX_TAIL_BYTES = 2 ** 18;
const PAUSE = { minMs: 1_000, maxMs: 300_000 };

/** State of one shard from its opening to its closing. */
interface CheckpointState {
  /** Bytes of log bodies that reopening the shard would replay. */
  tailBytes: number;
  /** Seq of the newest checkpoint, loaded or taken since; 0 if there is none. */
  checkpointSeq: number;
  run: Promise<void> | null;
  /** Whether the shard is closed. Runs still in progress must then have no effect. */
  ended: boolean;
  /** Whether the shard's stored data contradicts itself. */
  isContradicted: boolean;
}

interface Pause {
  failures: number;
  untilMs: number;
}

export class Checkpointer {
  #store: Store;
  #materialiser: Materialiser;
  #clock: Clock;
  #diskReserveBytes: number;
  #onContradiction: (key: ShardKey, reason: string) => void;
  #openings = new Map<ShardKey, CheckpointState>();
  /** Runs and trims in progress, also those of shards that have closed since. */
  #runs = new Set<{ key: ShardKey; done: Promise<void> }>();
  #pauses = new Map<ShardKey, Pause>();
  #pins = new Map<ShardKey, number>();
  /**
   * Trims after openings run one at a time, so that the store first serves the openings themselves.
   */
  #trims: Promise<void> = Promise.resolve();
  /** Bytes of disk that checkpoints in progress may still use. */
  #stagedBytes = 0;

  constructor(
    store: Store,
    materialiser: Materialiser,
    clock: Clock,
    diskReserveBytes: number,
    onContradiction: (key: ShardKey, reason: string) => void = () => undefined,
  ) {
    this.#store = store;
    this.#materialiser = materialiser;
    this.#clock = clock;
    this.#diskReserveBytes = diskReserveBytes;
    this.#onContradiction = onContradiction;
  }

  /**
   * Registers a shard opened from the checkpoint at `checkpointSeq` (0 for records) plus
   * `replayedBytes` of log bodies. Trims what an earlier process could not; entries appended from
   * now on stay, even if the trim comes late.
   */
  opened(
    { key, head }: Pick<ShardActor, 'key' | 'head'>,
    checkpointSeq: number,
    replayedBytes: number,
    isContradicted = false,
  ): void {
    const opening: CheckpointState = {
      tailBytes: replayedBytes,
      checkpointSeq,
      run: null,
      ended: false,
      isContradicted,
    };
    this.#openings.set(key, opening);
    const trim = async (): Promise<void> => {
      if (opening.ended) return;
      const mark = Math.min(head.seq, await this.#store.records.appliedSeq(key));
      await this.#trim(key, opening, mark, checkpointSeq > 0);
    };
    // If this fails, the shard's next run trims.
    this.#trims = this.#trims.then(() => this.#tracked(key, trim())).catch(() => undefined);
  }

  committed(key: ShardKey, entryBytes: number): void {
    const opening = this.#openings.get(key);
    if (opening) opening.tailBytes += entryBytes;
  }

  /** Returns the bytes of an open shard's log after its newest checkpoint; 0 if it is not open. */
  tailBytes(key: ShardKey): number {
    return this.#openings.get(key)?.tailBytes ?? 0;
  }

  /** Whether the log of an open shard has grown enough to act now. */
  isDue({ key, size }: ShardActor): boolean {
    const opening = this.#openings.get(key);
    if (
      !opening ||
      opening.run ||
      opening.isContradicted ||
      this.#clock.monotonicMs() < (this.#pauses.get(key)?.untilMs ?? 0)
    )
      return false;
    const tail = opening.tailBytes;
    if (size.records < CHECKPOINT_MIN_RECORDS) return tail > SMALL_TAIL_MAX_BYTES;
    return tail > TAIL_URGENT_BYTES || (tail > TAIL_MAX_BYTES && size.unindexed === 0);
  }

  /** Whether the shard would reopen quickly: both it and its log tail are small. */
  opensQuickly({ key, size }: ShardActor): boolean {
    const tail = this.#openings.get(key)?.tailBytes ?? Number.POSITIVE_INFINITY;
    return size.records < CHECKPOINT_MIN_RECORDS && size.bytes <= QUICK_MAX_BYTES && tail <= QUICK_MAX_TAIL_BYTES;
  }

  /**
   * Checkpoints if worthwhile and trims the log, ignoring any pause. Concurrent calls share one
   * run. Throws StoreError or WorkerLost.
   */
  run(actor: ShardActor): Promise<void> {
    const opening = this.#openings.get(actor.key);
    if (!opening) return Promise.resolve();
    opening.run ??= this.#start(actor, opening);
    return opening.run;
  }

  /**
   * Prevents the log from being trimmed until the returned function is called. Call it exactly
   * once.
   */
  pin(key: ShardKey): () => void {
    this.#pins.set(key, (this.#pins.get(key) ?? 0) + 1);
    return () => {
      const left = getOrThrow(this.#pins, key) - 1;
      if (left === 0) this.#pins.delete(key);
      else this.#pins.set(key, left);
    };
  }

  /**
   * An operator declared the records materialised through `mark` right: removes the log and
   * checkpoints that led there.
   */
  async resumed(key: ShardKey, mark: number): Promise<void> {
    await this.#store.log.trim(key, mark);
    await this.#store.checkpoints.prune(key, mark + 1);
    const opening = this.#openings.get(key);
    if (opening) Object.assign(opening, { isContradicted: false, checkpointSeq: 0 });
  }

  /**
   * Marks the shard as closed: a run in progress ends without effect. Resolves when it has ended.
   */
  async closed(key: ShardKey): Promise<void> {
    const opening = this.#openings.get(key);
    if (!opening) return;
    opening.ended = true;
    this.#openings.delete(key);
    // Callers of `run` get its error.
    await opening.run?.catch(() => undefined);
  }

  /**
   * Resolves once nothing runs for a collection whose shards are closed, and its staged files are
   * gone.
   */
  async forget(collectionId: CollectionId): Promise<void> {
    const isOwn = (key: ShardKey) => parseShardKey(key).collectionId === collectionId;
    await Promise.allSettled([...this.#runs].filter(({ key }) => isOwn(key)).map(({ done }) => done));
    for (const key of this.#pauses.keys()) if (isOwn(key)) this.#pauses.delete(key);
  }

  #start(actor: ShardActor, opening: CheckpointState): Promise<void> {
    const { key } = actor;
    const done = this.#run(actor, opening)
      .then(
        () => void this.#pauses.delete(key),
        (error: unknown) => {
          this.#pause(key);
          throw error;
        },
      )
      .finally(() => {
        opening.run = null;
      });
    return this.#tracked(key, done);
  }

  /** Makes `forget` wait for `done`. */
  #tracked(key: ShardKey, done: Promise<void>): Promise<void> {
    const run = { key, done };
    this.#runs.add(run);
    return done.finally(() => this.#runs.delete(run));
  }

  async #run(actor: ShardActor, opening: CheckpointState): Promise<void> {
    const { key, worker } = actor;
    const tail = opening.tailBytes;
    const mark = await this.#materialiser.catchUp(key);
    if (opening.isContradicted) return;
    const size = await worker.request('size', { key });
    if (opening.ended) return;
    const isIndexed = size.records >= CHECKPOINT_MIN_RECORDS;
    const isWanted = isIndexed && actor.head.seq > opening.checkpointSeq && (await this.#leavesAnchored(key));
    if (opening.ended) return;
    const checkpoint = isWanted ? this.#checkpoint(actor, opening, size.bytes) : Promise.resolve();
    const [{ status }] = await Promise.allSettled([checkpoint]);
    if (opening.ended) return;
    await this.#trim(key, opening, mark, isIndexed && (status === 'fulfilled' || tail <= TAIL_URGENT_BYTES));
    await checkpoint;
    opening.tailBytes -= tail;
  }

  /**
   * Whether, after another checkpoint, one would remain from which recovery passes the confirmed
   * root. The store keeps two.
   */
  async #leavesAnchored(key: ShardKey): Promise<boolean> {
    const [newest] = await this.#store.checkpoints.list(key);
    return newest === undefined || newest.seq <= (await anchoredBound(this.#store.anchors, key));
  }

  async #checkpoint({ key, worker }: ShardActor, opening: CheckpointState, shardBytes: number): Promise<void> {
    const { checkpoints } = this.#store;
    const freeBytes = await this.#store.freeBytes();
    if (freeBytes !== null && freeBytes - this.#stagedBytes - shardBytes < this.#diskReserveBytes)
      throw new StoreError('capacity', `A checkpoint of ${shardBytes} bytes would eat into the disk's reserve.`);
    this.#stagedBytes += shardBytes;
    try {
      const folder = await checkpoints.stage(key);
      try {
        const { seq } = await worker.request('save', { key, folder });
        if (opening.ended) return;
        await checkpoints.put(key, seq, folder);
        opening.checkpointSeq = seq;
      } finally {
        // After a successful put there is nothing left to discard.
        await checkpoints.discard(folder);
      }
    } finally {
      this.#stagedBytes -= shardBytes;
    }
    collectGarbage();
  }

  /**
   * `mark` may be outdated. That is safe: it only grows, and anyone who pins the log from now on
   * scans at a later one.
   */
  async #trim(key: ShardKey, opening: CheckpointState, mark: number, keepCheckpoints: boolean): Promise<void> {
    if (this.#pins.has(key) || opening.isContradicted) return;
    const { log, checkpoints } = this.#store;
    const oldest = keepCheckpoints ? (await checkpoints.list(key)).at(-1) : undefined;
    const throughSeq = Math.min(mark, oldest?.seq ?? mark);
    const firstSeq = await log.firstSeq(key);
    if (firstSeq !== null && firstSeq <= throughSeq) {
      opening.isContradicted = !(await this.#isSound(key, throughSeq));
      if (opening.isContradicted || this.#pins.has(key)) return;
      await log.trim(key, throughSeq);
    }
    if (!keepCheckpoints) await checkpoints.prune(key, throughSeq);
  }

  /** Whether the log through `throughSeq` is what was appended. If not, records a contradiction. */
  async #isSound(key: ShardKey, throughSeq: number): Promise<boolean> {
    const altered = await this.#store.log.audit(key, throughSeq);
    if (altered === null) return true;
    const reason = `Entry ${altered} of the log is not what was written there.`;
    const at = new Date(this.#clock.wallMs()).toISOString();
    await this.#store.contradictions.record(key, { seq: altered, reason, at });
    this.#onContradiction(key, reason);
    return false;
  }

  #pause(key: ShardKey): void {
    const failures = this.#pauses.get(key)?.failures ?? 0;
    const untilMs = this.#clock.monotonicMs() + backoffMs(failures, PAUSE);
    this.#pauses.set(key, { failures: failures + 1, untilMs });
  }
}
