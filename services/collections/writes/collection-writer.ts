/**
 * Writes to a collection: quota, fan-out to the shards, the new root and its anchor.
 *
 * Each shard's part is all or nothing. A result means that every part is durable and in
 * `merkleRoot`. Once the parts are committed, only a store that cannot return the new root in time
 * turns the result into an error. A write runs on after its caller's timeout: its reserved quota is
 * settled when the outcome is known, and what it commits late is anchored as usual. If a shard
 * refuses, the error is thrown after all shards have finished, and the other parts stay committed;
 * sending the same request again completes the write.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { AnchorReceipt } from '../../../contracts/actions/anchoring.ts';
import { type Caller, call } from '../../../contracts/actions/call.ts';
import type {
  AbsentFieldsOption,
  DeleteResult,
  ImportResult,
  UpdateResult,
  UpsertResult,
  WriteResult,
} from '../../../contracts/actions/collections.ts';
import { planOf } from '../../../contracts/actions/principal.ts';
import { getOrThrow, itemAt } from '../../../lib/checked-access.ts';
import { isProvecError, ProvecError, unavailable } from '../../../lib/errors.ts';
import { LEDGER_PROGRAM } from '../../../lib/ledger/program.ts';
import type { RecordBatch } from '../../../lib/records/batch.ts';
import type { RecordUpdate } from '../../../lib/shard/change.ts';
import { collectionRoot } from '../../../lib/shard/collection-root.ts';
import { committedCut } from '../../../lib/shard/cut.ts';
import type { Cut } from '../../../lib/shard/head.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import { withoutShardIndexes } from '../../../lib/shard/shard-unavailable.ts';
import { shardSpec, shardSpecs } from '../../../lib/shard/spec.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { Runtime } from '../../../process/runtime.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { mergeFieldReports } from '../reads/absent-fields.ts';
import { countAbsent, totalOf } from '../reads/collection-reader.ts';
import { shardIndexOf, splitBatch, splitIds } from '../shard-routing.ts';
import { AnchorHandOver } from './anchor-hand-over.ts';
import { previewMatching, previewUpdates } from './change-preview.ts';
import { changeInRounds, type MatchingMerge, PartlyChanged, type RoundOptions } from './change-rounds.ts';
import type { CollectionHeads } from './collection-heads.ts';
import { isRefusal, withQuota } from './write-quota.ts';
import type { WriteTime } from './write-time.ts';

const NO_ANCHOR: AnchorReceipt = { status: 'none', signature: null, explorerUrl: null };
const PENDING: AnchorReceipt = { status: 'pending', signature: null, explorerUrl: null };
/** Time in ms that the call may take in addition to `waitMs`. */
const SUBMIT_GRACE_MS = 2_000;
const CUT_PAUSE = { minMs: 50, maxMs: 1_000 };

/** One write to a collection. Its `caller` outlives the request. */
export interface Write extends AbsentFieldsOption {
  caller: Caller;
  row: CollectionRow;
  time: WriteTime;
  /** Default: true, the response waits briefly for the anchor of its root. */
  isAnchorAwaited?: boolean | undefined;
}

/** Write that all its shards have acknowledged. */
interface Committed {
  /** Acknowledgements by shard index. */
  acks: Map<number, WriteAck>;
  /** Heads of the shards that the write did not touch; null if they could not be read. */
  others: Promise<Cut | null>;
}

export class CollectionWriter {
  readonly #runtime: Pick<Runtime, 'config' | 'store' | 'plans' | 'log'>;
  readonly #heads: CollectionHeads;
  readonly #handOver: AnchorHandOver;

  /** `background` is for calls that outlive requests. */
  constructor(
    runtime: Pick<Runtime, 'config' | 'store' | 'plans' | 'log'>,
    heads: CollectionHeads,
    background: Caller,
  ) {
    this.#runtime = runtime;
    this.#heads = heads;
    this.#handOver = new AnchorHandOver(runtime, background);
  }

  /** Throws DIMENSION_MISMATCH, PLAN_LIMIT_REACHED and the shards' errors. */
  async upsert(write: Write, batch: RecordBatch): Promise<UpsertResult> {
    const { caller, row } = write;
    if (batch.dimensions !== row.dimensions) {
      throw new ProvecError(
        'DIMENSION_MISMATCH',
        `The vectors have ${batch.dimensions} dimensions, but the collection has ${row.dimensions}.`,
      );
    }
    const parts = splitBatch(batch, row.shards);
    const writes = batch.ids.length;
    const count = async () => ({ writes, vectors: await countAbsent(write, batch.ids, write.time.openMaxMs) });
    const metered = { accountId: row.accountId, most: { writes, vectors: writes }, writesMin: writes, count };
    // Quota is reserved only until the commit, so waiting for the anchor does not block other
    // writes.
    const committed = await withQuota(caller, this.#runtime.log, metered, () =>
      this.#commit(write, parts, ({ shard, ...times }, part, options) =>
        call(caller, 'shards.upsert', { shard, batch: part, ...times }, options),
      ),
    );
    const upsertedCount = sumOf(committed.acks.values(), ({ upserted }) => upserted);
    return { upsertedCount, ...(await this.#result(write, committed)) };
  }

  /** Upserts the batch. For an empty batch, returns the collection's current state. */
  async import(write: Write, batch: RecordBatch): Promise<ImportResult> {
    if (batch.ids.length === 0) return { importedCount: 0, ...(await this.unchanged(write)) };
    const { upsertedCount, ...written } = await this.upsert(write, batch);
    return { importedCount: upsertedCount, ...written };
  }

  /** Deletes records by id. Deletes are free, so a full account can always make room. */
  async delete(write: Write, ids: string[]): Promise<DeleteResult> {
    const parts = splitIds(ids, write.row.shards);
    const committed = await this.#commit(write, parts, ({ shard, ...times }, part, options) =>
      call(write.caller, 'shards.delete', { shard, ids: part, ...times }, options),
    );
    const deletedCount = sumOf(committed.acks.values(), ({ deleted }) => deleted);
    return { deleted: true, deletedCount, ...(await this.#result(write, committed)) };
  }

  /** Deletes every record in a scope. */
  async deleteMatching(write: Write, scope: RecordScope): Promise<DeleteResult> {
    const change = { kind: 'delete matching', ...scope } as const;
    const committed = await this.#commit(write, everyShard(write.row), (terms, _part, options) =>
      changeInRounds(write.caller, terms, change, Number.POSITIVE_INFINITY, options),
    );
    const acks = [...committed.acks.values()];
    const deletedCount = sumOf(acks, ({ deleted }) => deleted);
    const absent = mergeFieldReports(acks.map(({ fields }) => fields));
    return { deleted: true, deletedCount, ...(await this.#result(write, committed)), ...absent };
  }

  /** Returns the collection's current state, as the result of a write that changes nothing. */
  unchanged(write: Write): Promise<WriteResult> {
    return this.#result(write, { acks: new Map(), others: this.#headsOfOthers(write, new Map()) });
  }

  /**
   * Returns the collection's current state, as the result of a dry run. Requests no anchor and does
   * not wait for one.
   */
  async current({ caller, row }: Write): Promise<WriteResult> {
    const cut = await this.#heads.committed(row);
    const isEnabled = await this.#runtime.plans.isAnchored(await planOf(caller, row.accountId));
    if (!isEnabled) return resultOf(cut, NO_ANCHOR);
    const params = { collectionId: row.id, cut, waitMs: 0 };
    const asked = call(caller, 'anchoring.confirmation', params, { timeout: SUBMIT_GRACE_MS });
    // Without an answer, the anchor counts as pending.
    return resultOf(cut, await asked.catch(() => PENDING));
  }

  /** Merges by id. Throws INVALID_ARGUMENT, PLAN_LIMIT_REACHED and the shards' errors. */
  async update(write: Write, updates: RecordUpdate[], metadataMaxBytes: number): Promise<UpdateResult> {
    const { caller, row } = write;
    const parts = Map.groupBy(updates, ({ id }) => shardIndexOf(id, row.shards));
    const countChanged = async (): Promise<number> => {
      const previews = await previewUpdates(write, updates, { metadataMaxBytes, countsChanges: true });
      return sumOf(previews.values(), ({ changed }) => changed);
    };
    return this.#updated(write, updates.length, countChanged, () =>
      this.#commit(write, parts, ({ shard, ...times }, part, options) => {
        const change = { kind: 'update', updates: part, metadataMaxBytes } as const;
        return call(caller, 'shards.change', { shard, change, ...times }, options);
      }),
    );
  }

  /** Merges into the matching records, in each shard at most as many as `matching` has. */
  async updateMatching(write: Write, matching: Map<number, number>, merge: MatchingMerge): Promise<UpdateResult> {
    const countChanged = async (): Promise<number> => {
      const previews = await previewMatching(write, merge, true);
      return sumOf(matching, ([index, count]) => Math.min(count, getOrThrow(previews, index).changed));
    };
    return this.#updated(write, totalOf(matching), countChanged, () =>
      this.#commit(write, matching, (terms, count, options) =>
        changeInRounds(write.caller, terms, { kind: 'merge matching', ...merge }, count, options),
      ),
    );
  }

  /** Commits an update of up to `recordsMax` records. Only changed records count as writes. */
  async #updated(
    write: Write,
    recordsMax: number,
    countChanged: () => Promise<number>,
    commit: () => Promise<Committed>,
  ): Promise<UpdateResult> {
    const { accountId } = write.row;
    const count = async () => ({ writes: await countChanged(), vectors: 0 });
    const metered = { accountId, most: { writes: recordsMax, vectors: 0 }, writesMin: 0, count };
    const committed = await withQuota(write.caller, this.#runtime.log, metered, commit);
    const acks = [...committed.acks.values()];
    const matchedCount = sumOf(acks, ({ matched = 0 }) => matched);
    const updatedCount = sumOf(acks, ({ upserted }) => upserted);
    return { matchedCount, updatedCount, ...(await this.#result(write, committed)) };
  }

  /** Writes every part, and resolves when the outcome of each is known. */
  async #commit<Part>(
    write: Write,
    parts: Map<number, Part>,
    send: (terms: RoundOptions, part: Part, options: Record<string, unknown>) => Promise<WriteAck>,
  ): Promise<Committed> {
    const { row, time } = write;
    const waitMs = time.leftToCommitMs;
    // A retry of the whole request would repeat, and count again, what other shards had committed.
    // So only a write to a single shard fails fast when that shard is unavailable.
    const openMaxMs = parts.size === 1 ? time.openMaxMs : undefined;
    // No timeout: until the shard responds, its write may still be committed.
    const sent = [...parts].map(([index, part]) =>
      send({ shard: shardSpec(row, index), waitMs, openMaxMs }, part, { timeout: 0 }),
    );
    const others = this.#headsOfOthers(write, parts);
    const outcomes = await Promise.allSettled(sent);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    if (reasons.length > 0) {
      const unknown = reasons.find((each) => !isRefusal(each));
      const reason = unknown ?? reasons[0];
      const wrote = outcomes.some((outcome) =>
        outcome.status === 'fulfilled'
          ? outcome.value.upserted + outcome.value.deleted > 0
          : outcome.reason instanceof PartlyChanged,
      );
      if (wrote || unknown !== undefined) this.#handOver.begin(row, write.caller.meta);
      // A 400 would mean that nothing was written.
      if (wrote && isProvecError(reason) && reason.status === 400) throw new PartlyChanged(reason);
      // Do not retry the whole write: some shards may have committed it.
      throw parts.size > 1 ? withoutShardIndexes(reason) : reason;
    }
    time.committed();
    const acks = outcomes.map((outcome) => (outcome as PromiseFulfilledResult<WriteAck>).value);
    return { acks: new Map([...parts.keys()].map((index, at) => [index, itemAt(acks, at)])), others };
  }

  async #result(write: Write, committed: Committed): Promise<WriteResult> {
    const cut = await this.#cutInTime(write, committed);
    return resultOf(cut, await write.time.untilAnswer(this.#anchor(write, cut), PENDING));
  }

  /**
   * Reads the heads in parallel with the writes. Resolves to null if an owner does not respond,
   * which must not fail a committed write.
   */
  #headsOfOthers({ row }: Write, parts: Map<number, unknown>): Promise<Cut | null> {
    const others = shardSpecs(row).filter(({ index }) => !parts.has(index));
    // `#cut` then takes the heads of the log.
    return Promise.all(others.map((shard) => this.#heads.newest(shard))).catch(() => null);
  }

  /**
   * Retries `#cut` for as long as the response may wait, since a brief failure of the store must
   * not turn a committed write into an error. Throws UNAVAILABLE.
   */
  async #cutInTime(write: Write, committed: Committed): Promise<Cut> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#cut(write, committed);
      } catch (error) {
        const pauseMs = backoffMs(failures, CUT_PAUSE);
        if (write.time.leftToAnswerMs > pauseMs) await delay(pauseMs);
        else {
          this.#handOver.begin(write.row, write.caller.meta);
          const message =
            'The service stored the write but cannot read the new root now; sending it again changes nothing.';
          throw unavailable(message, error);
        }
      }
    }
  }

  /** Returns a cut that contains every part of the write. */
  async #cut({ row, time }: Write, { acks, others }: Committed): Promise<Cut> {
    const heads = await time.untilAnswer(others, null);
    if (heads === null) return committedCut(this.#runtime.store.log, row);
    const rest = heads.values();
    return Array.from({ length: row.shards }, (_, index) => acks.get(index)?.head ?? rest.next().value!);
  }

  /** Submits the committed cut for anchoring. Failures only leave the receipt pending. */
  async #anchor({ caller, row, time, isAnchorAwaited = true }: Write, cut: Cut): Promise<AnchorReceipt> {
    const { config, log } = this.#runtime;
    try {
      if (!(await this.#runtime.plans.isAnchored(await planOf(caller, row.accountId)))) return NO_ANCHOR;
      const waitMs = isAnchorAwaited ? Math.min(config.anchorWaitMs, Math.floor(time.leftToAnswerMs)) : 0;
      const options = { timeout: waitMs + SUBMIT_GRACE_MS };
      return await call(caller, 'anchoring.submit', { collectionId: row.id, cut, waitMs }, options);
    } catch (error) {
      log.warn({ err: error, collectionId: row.id }, 'could not submit a committed write for anchoring');
      return PENDING;
    }
  }
}

function resultOf(cut: Cut, { status, signature, explorerUrl }: AnchorReceipt): WriteResult {
  return {
    ...collectionRoot(cut),
    ledgerProgram: LEDGER_PROGRAM,
    ledgerTx: signature,
    ledgerExplorerUrl: explorerUrl,
    anchor: { status },
  };
}

const everyShard = (row: CollectionRow): Map<number, null> =>
  new Map(Array.from({ length: row.shards }, (_, index) => [index, null]));

function sumOf<T>(values: Iterable<T>, numberOf: (value: T) => number): number {
  let sum = 0;
  for (const value of values) sum += numberOf(value);
  return sum;
}
