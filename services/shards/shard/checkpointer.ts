/**
 * Decides when a shard is checkpointed and how far its log may be trimmed.
 *
 * Promises: the log is never trimmed past the mark of the materialised records, nor while somebody
 * reads it behind a scan (`pin`). Entries are audited before they are trimmed; one that is not what
 * was appended is a contradiction. While a shard has a contradiction, its log and checkpoints stay.
 * How it fails: what was staged is discarded, and the log stays longer. The next try comes after a
 * growing pause, or when the shard closes.
 * See docs/internals/shard.md.
 */

import { collectGarbage } from '../../../lib/process/garbage.ts';
import { parseShardKey, type ShardKey } from '../../../lib/shard/key.ts';
import { type Store, StoreError } from '../../../lib/store/port.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { ShardActor } from './actor.ts';
import { anchoredBound } from './anchored-bound.ts';
import type { Materialiser } from './materialiser.ts';

/** Below this a shard has no index worth keeping and opens from its records just as fast. */
const CHECKPOINT_MIN_RECORDS = 2_000;
const TAIL_MAX_BYTES = 64 * 2 ** 20;
/** Past this a checkpoint is taken although the index is still being built. */
const TAIL_URGENT_BYTES = 4 * TAIL_MAX_BYTES;
const SMALL_TAIL_MAX_BYTES = 4 * 2 ** 20;
/** What is read and replayed within a moment. */
const MOMENT_MAX_BYTES = 2 ** 20;
const MOMENT_MAX_TAIL_BYTES = 2 ** 18;
const PAUSE = { minMs: 1_000, maxMs: 300_000 };

/** One shard from its opening to its closing. */
interface Opening {
  /** Bytes of log bodies that opening the shard again would replay. */
  tailBytes: number;
  /** The checkpoint that it came from or that was taken since; 0 when there is none. */
  checkpointSeq: number;
  run: Promise<void> | null;
  /** The shard is closed: what still runs for it must change nothing any more. */
  ended: boolean;
  /** What is stored of the shard contradicts itself. */
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
  #openings = new Map<ShardKey, Opening>();
  /** Also those of shards that closed meanwhile. */
  #runs = new Set<{ key: ShardKey; done: Promise<void> }>();
  #pauses = new Map<ShardKey, Pause>();
  #pins = new Map<ShardKey, number>();
  /**
   * After openings, one shard at a time: where many open at once the store is to answer what they
   * wait for first.
   */
  #trims: Promise<void> = Promise.resolve();
  /** What the checkpoints that are being written may yet take from the disk. */
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
   * A shard opened from the checkpoint at `checkpointSeq` (0: from records) and `replayedBytes` of
   * log bodies.
   */
  opened(key: ShardKey, checkpointSeq: number, replayedBytes: number, isContradicted = false): void {
    const opening: Opening = { tailBytes: replayedBytes, checkpointSeq, run: null, ended: false, isContradicted };
    this.#openings.set(key, opening);
    // What an earlier process no longer needed and did not live to trim. The shard's next run makes
    // good what fails here.
    const trim = async (): Promise<void> => {
      if (opening.ended) return;
      await this.#trim(key, opening, await this.#store.records.appliedSeq(key), checkpointSeq > 0);
    };
    this.#trims = this.#trims.then(trim).catch(() => undefined);
  }

  committed(key: ShardKey, entryBytes: number): void {
    const opening = this.#openings.get(key);
    if (opening) opening.tailBytes += entryBytes;
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

  /**
   * Whether opening the shard again would take a moment only: it is small, and so is what it would
   * replay.
   */
  opensAtOnce({ key, size }: ShardActor): boolean {
    const tail = this.#openings.get(key)?.tailBytes ?? Number.POSITIVE_INFINITY;
    return size.records < CHECKPOINT_MIN_RECORDS && size.bytes <= MOMENT_MAX_BYTES && tail <= MOMENT_MAX_TAIL_BYTES;
  }

  /**
   * Checkpoints if that pays, and trims the log, pause or none; calls that overlap share one run.
   * Throws StoreError or WorkerLost.
   */
  run(actor: ShardActor): Promise<void> {
    const opening = this.#openings.get(actor.key);
    if (!opening) return Promise.resolve();
    opening.run ??= this.#start(actor, opening);
    return opening.run;
  }

  /** Keeps the log from being trimmed until the returned function is called, once. */
  pin(key: ShardKey): () => void {
    this.#pins.set(key, (this.#pins.get(key) ?? 0) + 1);
    return () => {
      const left = this.#pins.get(key)! - 1;
      if (left === 0) this.#pins.delete(key);
      else this.#pins.set(key, left);
    };
  }

  /**
   * An operator has decided that what is materialised, through `mark`, is right: nothing of what
   * led there is kept.
   */
  async resumed(key: ShardKey, mark: number): Promise<void> {
    await this.#store.log.trim(key, mark);
    await this.#store.checkpoints.prune(key, mark + 1);
    const opening = this.#openings.get(key);
    if (opening) Object.assign(opening, { isContradicted: false, checkpointSeq: 0 });
  }

  /**
   * The shard is closed: a run that is under way ends without effect, and the promise resolves when
   * it has.
   */
  async closed(key: ShardKey): Promise<void> {
    const opening = this.#openings.get(key);
    if (!opening) return;
    opening.ended = true;
    this.#openings.delete(key);
    await opening.run?.catch(() => undefined);
  }

  /**
   * Resolves when nothing runs any more for a collection whose shards are closed, and nothing that
   * it staged is left.
   */
  async forget(collectionId: string): Promise<void> {
    const isOwn = (key: ShardKey) => parseShardKey(key).collectionId === collectionId;
    await Promise.allSettled([...this.#runs].filter(({ key }) => isOwn(key)).map(({ done }) => done));
    for (const key of this.#pauses.keys()) if (isOwn(key)) this.#pauses.delete(key);
  }

  #start(actor: ShardActor, opening: Opening): Promise<void> {
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
        this.#runs.delete(run);
      });
    const run = { key, done };
    this.#runs.add(run);
    return done;
  }

  async #run(actor: ShardActor, opening: Opening): Promise<void> {
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
   * Whether another checkpoint would leave one from which the way up passes the confirmed root: the
   * store keeps two.
   */
  async #leavesAnchored(key: ShardKey): Promise<boolean> {
    const [newest] = await this.#store.checkpoints.list(key);
    return newest === undefined || newest.seq <= (await anchoredBound(this.#store.anchors, key));
  }

  async #checkpoint({ key, worker }: ShardActor, opening: Opening, shardBytes: number): Promise<void> {
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
        // Nothing is there any more of one that was put.
        await checkpoints.discard(folder);
      }
    } finally {
      this.#stagedBytes -= shardBytes;
    }
    collectGarbage();
  }

  /**
   * `mark` may be out of date by now: it only grows, and whoever pins the log from here on scans at
   * a later one.
   */
  async #trim(key: ShardKey, opening: Opening, mark: number, keepCheckpoints: boolean): Promise<void> {
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

  /** Whether the log through there is what was appended; writes it down where it is not. */
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
