/**
 * Reclaims the space of deleted records. When tombstones outnumber live rows, it copies the live
 * rows into a new generation and makes that one current by a compare-and-set.
 *
 * Guarantees: no record is lost, and no late write restores a deleted record. On failure: an
 * attempt during which another process changed records is abandoned; the next successful one
 * removes its leftovers. A failure costs only space. See docs/internals/store.md.
 */
import { lastOf } from '../../lib/checked-access.ts';
import type { Connection } from './connection.ts';
import { type IdRange, joined, numberPart, under } from './document-id.ts';
import type { KeyedMutex } from './keyed-mutex.ts';
import { type RecordDocument, RecordRows, sizeOf } from './record-rows.ts';
import { generationPart, type RecordShardState, RecordShards } from './record-shards.ts';
import { deleteRange } from './slices.ts';

const PAGE_BYTES = 4 * 1024 * 1024;
const PAGE_ROWS_FIRST = 100;
const PAGE_ROWS_MAX = 1_000;
/** Number of records changed during an attempt above which it is abandoned. */
const CHANGED_MAX = 100_000;

/** A new generation being written. */
interface CompactionAttempt {
  state: RecordShardState;
  /** Id parts of records changed since the attempt began. */
  changed: Set<string>;
  /**
   * The shard's applied seq after those changes. If the stored one differs, another process also
   * made changes.
   */
  appliedSeq: number;
  stopped: boolean;
}

export class RecordCompaction {
  readonly #connection: Connection;
  readonly #shards: RecordShards;
  readonly #rows: RecordRows;
  readonly #turns: KeyedMutex;
  readonly #minTombstones: number;
  readonly #attempts = new Map<string, CompactionAttempt | null>();
  /** Deletes left until the tombstones are worth counting again. */
  readonly #untilCount = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  constructor(connection: Connection, turns: KeyedMutex, minTombstones: number) {
    this.#connection = connection;
    this.#shards = new RecordShards(connection);
    this.#rows = new RecordRows(connection);
    this.#turns = turns;
    this.#minTombstones = minTombstones;
  }

  /**
   * Must be called in the shard's turn, before records are changed, with the applied seq that was
   * read.
   */
  beforeChange(shard: string, appliedSeq: number, ids: string[]): void {
    const attempt = this.#attempts.get(shard);
    if (!attempt) return;
    if (appliedSeq !== attempt.appliedSeq) attempt.stopped = true;
    for (const id of ids) attempt.changed.add(id);
    if (attempt.changed.size > CHANGED_MAX) attempt.stopped = true;
  }

  /**
   * Must be called in the same turn, after the applied seq was raised; `count` is the number of
   * deletes. Starts a compaction in the background if it may be worthwhile.
   */
  afterChange(shard: string, appliedSeq: number, count: number): void {
    const attempt = this.#attempts.get(shard);
    if (attempt) attempt.appliedSeq = appliedSeq;
    const left = (this.#untilCount.get(shard) ?? this.#minTombstones) - count;
    this.#untilCount.set(shard, left);
    if (count === 0 || left > 0 || this.#attempts.has(shard)) return;
    this.#attempts.set(shard, null);
    const running = this.#connection
      .run('write', 'compacting records', () => this.#compact(shard))
      // A failure costs only space; the next attempt follows after as many deletes.
      .catch(() => void this.#untilCount.set(shard, this.#minTombstones))
      .finally(() => {
        this.#attempts.delete(shard);
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Abandons running attempts of shards that start with `prefix`. */
  stop(prefix: string): void {
    for (const [shard, attempt] of this.#attempts) if (attempt && shard.startsWith(prefix)) attempt.stopped = true;
    for (const shard of [...this.#untilCount.keys()]) if (shard.startsWith(prefix)) this.#untilCount.delete(shard);
  }

  async whenIdle(): Promise<void> {
    await Promise.all(this.#running);
  }

  async #compact(shard: string): Promise<void> {
    if (!(await this.#isWorthIt(shard))) return;
    const attempt = await this.#turns.inTurn(shard, async () => {
      const state = await this.#shards.beginGeneration(shard);
      const begun = state && { state, changed: new Set<string>(), appliedSeq: state.appliedSeq, stopped: false };
      this.#attempts.set(shard, begun);
      return begun;
    });
    if (attempt === null) return;
    const { generation, attempts: next } = attempt.state;
    const flipped =
      (await this.#copy(generationPart(shard, generation), generationPart(shard, next), attempt)) &&
      (await this.#turns.inTurn(shard, () => this.#finish(shard, attempt)));
    const swept: IdRange = flipped
      ? { $gte: under(shard).$gte, $lt: joined(shard, numberPart(next)) }
      : under(generationPart(shard, next));
    await deleteRange(this.#connection, this.#rows.collection, swept);
    if (flipped) this.#untilCount.set(shard, this.#minTombstones);
  }

  async #isWorthIt(shard: string): Promise<boolean> {
    const { generation } = await this.#shards.read(shard);
    const prefix = generationPart(shard, generation);
    const tombstones = await this.#rows.collection.countDocuments({ gone: prefix });
    const limit = Math.max(1, 2 * tombstones);
    const rows = await this.#rows.collection.countDocuments({ _id: under(prefix) }, { limit });
    this.#untilCount.set(shard, Math.max(this.#minTombstones, tombstones));
    return tombstones >= this.#minTombstones && rows < limit;
  }

  async #copy(from: string, to: string, attempt: CompactionAttempt): Promise<boolean> {
    let after = `${from}.`;
    let limit = PAGE_ROWS_FIRST;
    for (;;) {
      this.#connection.assertOpen();
      if (attempt.stopped) return false;
      const page = await this.#rows.live(from, after, limit);
      await this.#rows.write(page.map((row) => moved(row, from, to)));
      if (page.length < limit) return true;
      after = lastOf(page)._id;
      const bytes = page.reduce((sum, row) => sum + sizeOf(row), 0);
      limit = Math.min(PAGE_ROWS_MAX, Math.max(1, Math.floor((PAGE_BYTES * page.length) / bytes)));
    }
  }

  /**
   * Runs in the shard's turn: copies what changed in the meantime and makes the new generation
   * current.
   */
  async #finish(shard: string, { state, changed, appliedSeq, stopped }: CompactionAttempt): Promise<boolean> {
    // From here on an apply writes to whichever generation is current by then.
    if (stopped) return false;
    const [from, to] = [generationPart(shard, state.generation), generationPart(shard, state.attempts)];
    const ids = [...changed];
    const rows = await this.#rows.read(ids.map((id) => joined(from, id)));
    const live = [...rows.values()].filter(({ gone }) => gone === undefined);
    await this.#rows.write(live.map((row) => moved(row, from, to)));
    const gone = ids.filter((id) => rows.get(joined(from, id))?.gone !== undefined);
    for (let at = 0; at < gone.length; at += PAGE_ROWS_MAX) {
      const some = gone.slice(at, at + PAGE_ROWS_MAX).map((id) => joined(to, id));
      await this.#rows.collection.deleteMany({ _id: { $in: some } });
    }
    return this.#shards.makeCurrent({ ...state, appliedSeq }, state.attempts);
  }
}

function moved(row: RecordDocument, from: string, to: string): RecordDocument {
  return { ...row, _id: to + row._id.slice(from.length) };
}
