/**
 * Recomputes a shard's root from stored bytes while writes continue: scans the records, then
 * applies the log entries after the seq that the scan saw. `extend` applies more entries to that
 * state.
 *
 * Guarantees: entries that are materialised and still in the log are audited too. The number of
 * concurrent scans is bounded; the others wait in order of arrival. A session's memory counts
 * against the node's limit from before the scan until the session is released. On failure: throws
 * UNAVAILABLE if there are too many sessions or no memory for one. See docs/internals/shard.md.
 */

import { randomUUID } from 'node:crypto';
import { Semaphore } from 'async-mutex';
import { lastOf } from '../../../lib/checked-access.ts';
import { unavailable } from '../../../lib/errors.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { EMPTY_HEAD, isSameState, type ShardHead } from '../../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../../lib/shard/key.ts';
import type { AlteredEntry, RecomputedShard } from '../../../lib/shard/recomputed.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import type { Store } from '../../../store/port.ts';
import type { HeadHistory } from '../memory/head-history.ts';
import type { ShardCache } from '../memory/shard-cache.ts';
import type { Checkpointer } from '../shard/checkpointer.ts';
import { contiguousEntries } from '../shard/contiguous-entries.ts';
import { clientErrorOf } from '../shard/failure.ts';
import { assertExists, orNotFound } from '../shard/open.ts';
import { type ShardWorker, WorkerLost, type WorkerPool } from '../worker/pool.ts';

const DIFFERENCES_MAX = 1_000;
/** Minimum time between two progress reports, in ms. */
const PROGRESS_EVERY_MS = 250;
/**
 * Estimated memory of a session, fixed and per record. Measured: 150 to 200 bytes per record with
 * ids of 36 characters, and the map once more while it grows.
 */
const SESSION_BYTES = 4 * 1024;
const RECORD_BYTES = 254;
/** Longest id, in characters, that this covers. */
const ID_MAX_CHARS = 64;
const CHAR_BYTES = 2;
const VALUE_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Called from time to time with the number of records recomputed so far. */
type OnProgress = (records: number) => void;

interface Session {
  id: string;
  spec: ShardSpec;
  key: ShardKey;
  worker: ShardWorker;
  recorded: ShardHead;
  /** Seq through which the log has been applied to the records. */
  laidSeq: number;
  altered: AlteredEntry | null;
  unpin(): void;
  onProgress: OnProgress;
  toldMs: number;
  /** Bytes of work memory allocated for it. */
  heldBytes: number;
  /** Null while the session is working. */
  expiry: NodeJS.Timeout | null;
}

interface RecomputationParts {
  shardCache: ShardCache;
  pool: WorkerPool;
  store: Store;
  checkpointer: Checkpointer;
  clock: Pick<Clock, 'monotonicMs'>;
  /** Head histories of the open shards. */
  ownHeads: ReadonlyMap<ShardKey, HeadHistory>;
}

export class Recomputation {
  readonly #parts: RecomputationParts;
  readonly #store: Store;
  readonly #sessions = new Map<string, Session>();
  readonly #scans = new Semaphore(INTERNAL_LIMITS.recomputeScansMax, unavailable('The service is stopping.'));
  #waiting = 0;
  #stopped = false;

  constructor(parts: RecomputationParts) {
    this.#parts = parts;
    this.#store = parts.store;
  }

  /**
   * Starts a recomputation. Throws UNAVAILABLE, OUT_OF_CAPACITY, COLLECTION_NOT_FOUND if the
   * collection was deleted in the meantime, or StoreError 'damaged' if stored bytes cannot be
   * decoded.
   */
  async begin(spec: ShardSpec, onProgress: OnProgress = () => undefined): Promise<RecomputedShard> {
    if (this.#stopped) throw unavailable('The service is stopping.');
    if (this.#sessions.size + this.#waiting >= INTERNAL_LIMITS.recomputeSessionsMax)
      throw unavailable('Too many verifications are running; try again.');
    this.#waiting++;
    return this.#scans.runExclusive(() => {
      this.#waiting--;
      return this.#begin(spec, onProgress);
    });
  }

  #begin(spec: ShardSpec, onProgress: OnProgress): Promise<RecomputedShard> {
    const { shardCache, pool, checkpointer } = this.#parts;
    const key = shardKey(spec.collectionId, spec.index);
    const session: Session = {
      id: randomUUID(),
      spec,
      key,
      worker: shardCache.peek(spec)?.worker ?? pool.leastLoaded(),
      recorded: EMPTY_HEAD,
      laidSeq: 0,
      altered: null,
      unpin: checkpointer.pin(key),
      onProgress,
      toldMs: Number.NEGATIVE_INFINITY,
      heldBytes: 0,
      expiry: null,
    };
    this.#sessions.set(session.id, session);
    return this.#guarded(session, async () => {
      // The collection may have been deleted while the scan waited for its turn.
      await assertExists(spec, this.#store);
      const { count } = (await this.#store.log.head(key)) ?? EMPTY_HEAD;
      await this.#allocate(session, SESSION_BYTES + count * RECORD_BYTES);
      await session.worker.request('recomputeBegin', { session: session.id, spec });
      const [throughSeq, altered] = await Promise.all([
        this.#scan(session),
        this.#store.log.audit(key, Number.MAX_SAFE_INTEGER),
      ]);
      if (altered !== null) session.altered = await this.#alteredEntry(session, altered);
      const recorded = (await this.#store.log.head(key)) ?? EMPTY_HEAD;
      return this.#applyLog(session, throughSeq, recorded);
    });
  }

  /** Reads all records. Returns the seq they reflect. */
  async #scan(session: Session): Promise<number> {
    const scan = await this.#store.records.scan(session.key);
    for await (const records of scan.batches) {
      const longIds = records.reduce((sum, { id }) => sum + Math.max(0, id.length - ID_MAX_CHARS), 0);
      if (longIds > 0) await this.#allocate(session, longIds * CHAR_BYTES);
      this.#reportProgress(session, await session.worker.request('recomputeRecords', { session: session.id, records }));
    }
    const { unreadable, stray } = scan;
    await session.worker.request('recomputeLeftOut', { session: session.id, unreadable, stray });
    return scan.throughSeq;
  }

  #reportProgress(session: Session, records: number): void {
    const monotonicMs = this.#parts.clock.monotonicMs();
    if (monotonicMs - session.toldMs < PROGRESS_EVERY_MS) return;
    session.toldMs = monotonicMs;
    session.onProgress(records);
  }

  async #alteredEntry(session: Session, seq: number): Promise<AlteredEntry> {
    const [found] = await this.#store.log.read(session.key, seq - 1, 1);
    if (found?.seq !== seq) return { seq, ids: [] };
    const { kind, head, body } = found;
    const entry = { seq, kind, head, body };
    const params = { session: session.id, entry, limit: DIFFERENCES_MAX };
    return { seq, ids: await session.worker.request('recomputeAltered', params) };
  }

  /** Applies the log through `seq`. Throws UNAVAILABLE if the session has expired. */
  async extend(id: string, seq: number): Promise<RecomputedShard> {
    const session = this.#sessions.get(id);
    if (!session) throw unavailable('The verification took too long; try again.');
    return this.#guarded(session, async () => {
      const recorded = (await this.#store.log.head(session.key)) ?? EMPTY_HEAD;
      return this.#applyLog(session, session.laidSeq, recorded, seq);
    });
  }

  /** Restarts the expiry of an idle session. */
  keep(id: string): void {
    this.#sessions.get(id)?.expiry?.refresh();
  }

  release(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    if (session.expiry) clearTimeout(session.expiry);
    session.unpin();
    this.#parts.shardCache.freeWorkMemory(session.heldBytes);
    // Fails only if the worker is lost, and the session with it.
    session.worker.request('recomputeEnd', { session: id }).catch(() => undefined);
  }

  /** Ends the sessions of a deleted collection. */
  forget(collectionId: CollectionId): void {
    for (const { id, spec } of [...this.#sessions.values()]) if (spec.collectionId === collectionId) this.release(id);
  }

  stop(): void {
    this.#stopped = true;
    this.#scans.cancel();
    for (const id of [...this.#sessions.keys()]) this.release(id);
  }

  async #allocate(session: Session, bytes: number): Promise<void> {
    const { shardCache } = this.#parts;
    if (!(await shardCache.allocateWorkMemory(bytes)))
      throw unavailable('There is not enough memory to verify the collection now; try again.');
    session.heldBytes += bytes;
    if (this.#sessions.has(session.id)) return;
    // The session was released while shards were being closed for it.
    shardCache.freeWorkMemory(bytes);
    throw unavailable('The verification was interrupted; try again.');
  }

  async #applyLog(
    session: Session,
    fromSeq: number,
    newest: ShardHead,
    throughSeq = newest.seq,
  ): Promise<RecomputedShard> {
    let at = fromSeq;
    let recorded = at === newest.seq ? newest : session.recorded;
    for await (const entries of contiguousEntries(this.#store.log, session.key, fromSeq, throughSeq)) {
      // A rewritten record takes a new slot in the map.
      const bodies = entries.reduce((sum, { body }) => sum + body.byteLength, 0);
      await this.#allocate(session, Math.ceil(bodies / (session.spec.dimensions * VALUE_BYTES)) * RECORD_BYTES);
      this.#reportProgress(session, await session.worker.request('recomputeEntries', { session: session.id, entries }));
      recorded = lastOf(entries).head;
      at = lastOf(entries).seq;
    }
    if (at < throughSeq) {
      await assertExists(session.spec, this.#store);
      if ((await this.#store.records.appliedSeq(session.key)) > at)
        throw unavailable('The log was trimmed during the verification; try again.');
      // Compare the state reached with the head at which the log claims to end, so that missing
      // entries count as a contradiction.
      recorded = newest;
    }
    session.recorded = recorded;
    session.laidSeq = at;
    const place = { session: session.id, seq: at, version: recorded.version };
    const { head, contradicting } = await session.worker.request('recomputeHead', place);
    const isSame = isSameState(head, recorded) && contradicting === 0 && !(await this.#isSuspect(session, recorded));
    // A partly deleted collection contradicts whatever was recorded.
    if (!isSame) await assertExists(session.spec, this.#store);
    const differences = isSame ? [] : await this.#compare(session);
    const contradiction = this.#parts.ownHeads.get(session.key)?.contradiction ?? null;
    return { session: session.id, head, recorded, differences, altered: session.altered, contradiction };
  }

  /** Whether the log's own head may have been altered along with the records. */
  async #isSuspect({ spec }: Session, recorded: ShardHead): Promise<boolean> {
    const { anchors, contradictions } = this.#store;
    const confirmed = (await anchors.get(spec.collectionId))?.confirmed?.cut[spec.index];
    const known = [this.#parts.shardCache.peek(spec)?.head, confirmed];
    if (known.some((head) => head?.seq === recorded.seq && !isSameState(head, recorded))) return true;
    return (await contradictions.list(spec.collectionId)).length > 0;
  }

  async #compare(session: Session): Promise<RecomputedShard['differences']> {
    if (session.altered === null) await this.#addWitness(session);
    return this.#parts.shardCache.use(
      session.spec,
      (actor) => {
        const key = actor.worker === session.worker ? actor.key : null;
        return session.worker.request('recomputeCompare', { session: session.id, key, limit: DIFFERENCES_MAX });
      },
      { on: session.worker },
    );
  }

  /** Adds the entries still in the log as evidence of what was written. */
  async #addWitness({ id, key, worker, laidSeq }: Session): Promise<void> {
    const { log } = this.#store;
    const firstSeq = await log.firstSeq(key);
    for await (const entries of contiguousEntries(log, key, (firstSeq ?? laidSeq + 1) - 1, laidSeq))
      await worker.request('recomputeWitness', { session: id, entries });
  }

  async #guarded(session: Session, work: () => Promise<RecomputedShard>): Promise<RecomputedShard> {
    if (session.expiry) clearTimeout(session.expiry);
    session.expiry = null;
    try {
      const recomputed = await work();
      session.expiry = setTimeout(() => this.release(session.id), INTERNAL_LIMITS.recomputeSessionIdleMaxMs).unref();
      return recomputed;
    } catch (error) {
      const isReleased = !this.#sessions.has(session.id);
      this.release(session.id);
      if (!isReleased && !(error instanceof WorkerLost)) throw clientErrorOf(error);
      const interrupted = unavailable('The verification was interrupted; try again.', error);
      throw await orNotFound(interrupted, session.spec, this.#store);
    }
  }
}
