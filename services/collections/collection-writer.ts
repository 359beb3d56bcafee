/**
 * Writes to a collection: quota, fan-out to the shards, the root after the write, its anchor.
 *
 * Promises: all or nothing per shard; an answer means that every part is durable and in
 * `merkleRoot`; once the parts are committed nothing turns the answer into an error, whatever
 * becomes of the anchor, unless the store does not tell the root after them for as long as the
 * answer may wait. A write that was begun runs on when its caller's time is over: the room it holds
 * under the plan is given back when its outcome is known, and what it committed late is anchored
 * like anything else. How it fails: when one of several shards refuses, the error is returned after
 * all of them have ended, and the parts of the others stand. Sending the same request again
 * completes it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AnchorReceipt } from '../../lib/actions/anchoring.ts';
import { type Caller, call } from '../../lib/actions/call.ts';
import type { DeleteResult, UpsertResult, WriteResult } from '../../lib/actions/collections.ts';
import { planOf } from '../../lib/actions/principal.ts';
import { anchors, type Config } from '../../lib/config.ts';
import { ProvecError } from '../../lib/errors.ts';
import { LEDGER_PROGRAM } from '../../lib/ledger/program.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';
import { requireDirections } from '../../lib/records/vector.ts';
import { withoutShards } from '../../lib/shard/away.ts';
import { collectionRoot } from '../../lib/shard/collection-root.ts';
import { committedCut } from '../../lib/shard/committed-cut.ts';
import type { Cut, ShardHead } from '../../lib/shard/head.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { shardSpec } from '../../lib/shard/spec.ts';
import type { WriteAck } from '../../lib/shard/write-ack.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { ShardLog } from '../../lib/store/log.ts';
import { backoffMs } from '../../lib/time/backoff.ts';
import { CoalescedReads } from './coalesced-reads.ts';
import { splitBatch, splitIds } from './shard-routing.ts';
import { type HeldRoom, isRefusal, withinQuota } from './write-quota.ts';
import type { WriteTime } from './write-time.ts';

const NO_ANCHOR: AnchorReceipt = { status: 'none', signature: null, explorerUrl: null };
const PENDING: AnchorReceipt = { status: 'pending', signature: null, explorerUrl: null };
/** What the call may take over the time it was told to wait. */
const SUBMIT_GRACE_MS = 2_000;
/** A shard answers in its own time: until then its write may still be committed. */
const NO_TIMEOUT = { timeout: 0 };
/** A shard whose head does not come: it is read from the log. */
const HEAD_MAX_MS = 10_000;
const CUT_PAUSE = { minMs: 50, maxMs: 1_000 };
const HAND_OVER_PAUSE = { minMs: 1_000, maxMs: 30_000 };
const HAND_OVER_TRIES = 6;

interface Patience {
  waitMs: number;
  awayMaxMs: number | undefined;
}

/** One write, from the shards' acknowledgements on. */
interface Committed<Part> {
  parts: Map<number, Part>;
  acks: WriteAck[];
  /** Heads of the shards that were not written to. */
  others: Promise<Cut | null>;
}

/** Callers given to it must not end with the request. */
export class CollectionWriter {
  #config: Config;
  #shardLog: ShardLog;
  #log: Logger;
  readonly #heads = new CoalescedReads<ShardHead>();

  constructor(config: Config, shardLog: ShardLog, log: Logger) {
    this.#config = config;
    this.#shardLog = shardLog;
    this.#log = log;
  }

  /** Throws DIMENSION_MISMATCH, PLAN_LIMIT_REACHED and what the shards throw. */
  async upsert(caller: Caller, row: CollectionRow, batch: RecordBatch, time: WriteTime): Promise<UpsertResult> {
    if (batch.dimensions !== row.dimensions) {
      throw new ProvecError(
        'DIMENSION_MISMATCH',
        `The vectors have ${batch.dimensions} dimensions, but the collection has ${row.dimensions}.`,
      );
    }
    if (row.metric === 'cosine') requireDirections(batch);
    const parts = splitBatch(batch, row.shards);
    const metered = {
      accountId: row.accountId,
      records: batch.ids.length,
      countNew: () => this.#countNew(caller, row, batch.ids),
    };
    // Room is held only until the commit: the wait for the anchor keeps nobody else waiting.
    const committed = await withinQuota(caller, this.#room(caller, row.accountId), metered, () =>
      this.#commit(caller, row, parts, time, (shard, part, { waitMs, awayMaxMs }) => {
        const params = { shard, batch: part, waitMs, openMaxMs: awayMaxMs };
        return call(caller, 'shards.upsert', params, { ...NO_TIMEOUT, awayMaxMs });
      }),
    );
    const upsertedCount = committed.acks.reduce((sum, ack) => sum + ack.upserted, 0);
    return { upsertedCount, ...(await this.#result(caller, row, committed, time)) };
  }

  /** Deletes cost nothing: a full account can always make room. */
  async delete(caller: Caller, row: CollectionRow, ids: string[], time: WriteTime): Promise<DeleteResult> {
    const parts = splitIds(ids, row.shards);
    const committed = await this.#commit(caller, row, parts, time, (shard, part, { waitMs, awayMaxMs }) => {
      const params = { shard, ids: part, waitMs, openMaxMs: awayMaxMs };
      return call(caller, 'shards.delete', params, { ...NO_TIMEOUT, awayMaxMs });
    });
    const deletedCount = committed.acks.reduce((sum, ack) => sum + ack.deleted, 0);
    return { deleted: true, deletedCount, ...(await this.#result(caller, row, committed, time)) };
  }

  /** Writes every part, and ends when the outcome of each is known. */
  async #commit<Part>(
    caller: Caller,
    row: CollectionRow,
    parts: Map<number, Part>,
    time: WriteTime,
    send: (shard: ShardSpec, part: Part, patience: Patience) => Promise<WriteAck>,
  ): Promise<Committed<Part>> {
    const waitMs = time.leftToCommitMs;
    // Sent again as a whole, what other shards had committed would be written, and counted, twice.
    const awayMaxMs = parts.size === 1 ? time.awayMaxMs : undefined;
    const sent = [...parts].map(([index, part]) => send(shardSpec(row, index), part, { waitMs, awayMaxMs }));
    const others = this.#headsOfOthers(caller, row, parts);
    const outcomes = await Promise.allSettled(sent);
    const reasons = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    if (reasons.length > 0) {
      if (parts.size > 1 || !isRefusal(reasons[0])) void this.#anchorWhatStands(caller, row);
      const reason = reasons.find((each) => !isRefusal(each)) ?? reasons[0];
      // Nobody is to make the whole write again: parts of it may be committed.
      throw parts.size > 1 ? withoutShards(reason) : reason;
    }
    time.committed();
    return { parts, acks: outcomes.map((outcome) => (outcome as PromiseFulfilledResult<WriteAck>).value), others };
  }

  async #result(
    caller: Caller,
    row: CollectionRow,
    committed: Committed<unknown>,
    time: WriteTime,
  ): Promise<WriteResult> {
    const cut = await this.#cutInTime(caller, row, committed, time);
    const { status, signature, explorerUrl } = await time.untilAnswer(this.#anchor(caller, row, cut, time), PENDING);
    return {
      ...collectionRoot(cut),
      ledgerProgram: LEDGER_PROGRAM,
      ledgerTx: signature,
      ledgerExplorerUrl: explorerUrl,
      anchor: { status },
    };
  }

  /**
   * Asked in the same round trip as the writes; null when an owner did not answer, which must not
   * fail a write that was committed.
   */
  #headsOfOthers(caller: Caller, row: CollectionRow, parts: Map<number, unknown>): Promise<Cut | null> {
    const others = Array.from({ length: row.shards }, (_, index) => index).filter((index) => !parts.has(index));
    const heads = others.map((index) =>
      this.#heads.get(shardKey(row.id, index), () =>
        call(caller, 'shards.head', { shard: shardSpec(row, index) }, { timeout: HEAD_MAX_MS }),
      ),
    );
    return Promise.all(heads).catch(() => null);
  }

  /**
   * As `#cut`, for as long as the answer may wait: what is committed is no error because the store
   * is away for a moment. Throws UNAVAILABLE.
   */
  async #cutInTime(caller: Caller, row: CollectionRow, committed: Committed<unknown>, time: WriteTime): Promise<Cut> {
    for (let failures = 0; ; failures++) {
      try {
        return await this.#cut(row, committed, time);
      } catch (error) {
        const pauseMs = backoffMs(failures, CUT_PAUSE);
        if (time.leftToAnswerMs > pauseMs) await delay(pauseMs);
        else {
          void this.#anchorWhatStands(caller, row);
          const message =
            'The service stored the write but cannot read the new root now; sending it again changes nothing.';
          throw new ProvecError('UNAVAILABLE', message, { retryAfterSeconds: 1, cause: error });
        }
      }
    }
  }

  /** The cut that contains every part of the write. */
  async #cut(row: CollectionRow, { parts, acks, others }: Committed<unknown>, time: WriteTime): Promise<Cut> {
    const heads = await time.untilAnswer(others, null);
    if (heads === null) return committedCut(this.#shardLog, row);
    const written = [...parts.keys()];
    const rest = heads.values();
    return Array.from({ length: row.shards }, (_, index) => {
      const position = written.indexOf(index);
      return position >= 0 ? acks[position].head : rest.next().value!;
    });
  }

  /** From here on the write stands: whatever happens, the answer is a receipt. */
  async #anchor(caller: Caller, row: CollectionRow, cut: Cut, time: WriteTime): Promise<AnchorReceipt> {
    try {
      if (!anchors(this.#config, await planOf(caller, row.accountId))) return NO_ANCHOR;
      const waitMs = Math.min(this.#config.anchorWaitMs, Math.floor(time.leftToAnswerMs));
      const options = { timeout: waitMs + SUBMIT_GRACE_MS };
      return await call(caller, 'anchoring.submit', { collectionId: row.id, cut, waitMs }, options);
    } catch (error) {
      this.#log.warn({ err: error, collectionId: row.id }, 'could not hand a committed write to anchoring');
      return PENDING;
    }
  }

  /**
   * After a failure some parts may be committed all the same: they are anchored like any other
   * write. What is not handed over here is taken up by anchoring itself, minutes later.
   */
  async #anchorWhatStands(caller: Caller, row: CollectionRow): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        if (!anchors(this.#config, await planOf(caller, row.accountId))) return;
        const cut = await committedCut(this.#shardLog, row);
        if (cut.every(({ seq }) => seq === 0)) return;
        await call(caller, 'anchoring.submit', { collectionId: row.id, cut, waitMs: 0 });
        return;
      } catch (error) {
        if (failures < HAND_OVER_TRIES) await delay(backoffMs(failures, HAND_OVER_PAUSE), undefined, { ref: false });
        else {
          const what = 'could not hand a partly committed write to anchoring';
          this.#log.warn({ err: error, collectionId: row.id }, what);
          return;
        }
      }
    }
  }

  async #countNew(caller: Caller, row: CollectionRow, ids: string[]): Promise<number> {
    const counts = await Promise.all(
      [...splitIds(ids, row.shards)].map(([index, part]) =>
        call(caller, 'shards.countNew', { shard: shardSpec(row, index), ids: part }),
      ),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  #room(caller: Caller, accountId: string): HeldRoom {
    return {
      renew: (id) => {
        call(caller, 'metering.renew', { accountId, id }).catch((error: unknown) => {
          this.#log.warn({ err: error }, 'a write reservation could not be renewed');
        });
      },
      settle: (id) => {
        call(caller, 'metering.settle', { accountId, id }).catch((error: unknown) => {
          this.#log.warn({ err: error }, 'a write reservation could not be settled; it expires by itself');
        });
      },
    };
  }
}
