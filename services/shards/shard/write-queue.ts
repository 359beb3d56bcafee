import type { FairShares } from '../../../lib/admission/fair-share.ts';
import { unavailable } from '../../../lib/errors.ts';
import type { AccountId } from '../../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { MetadataMerge } from '../../../lib/shard/change.ts';
import type { WriteAck } from '../../../lib/shard/write-ack.ts';
import type { Clock } from '../../../lib/time/clock.ts';
import { isByFilter, type ShardWrite } from '../engine/port.ts';

export interface QueuedWrite {
  write: ShardWrite;
  bytes: number;
  /** On the node's monotonic clock. */
  deadlineMs: number;
  resolve(ack: WriteAck): void;
  reject(error: unknown): void;
}

/** Estimated size of a filter. */
const FILTER_BYTES = 4_096;

/** Whether the write frees memory. */
const isDelete = ({ kind }: ShardWrite): boolean => kind === 'delete' || kind === 'delete matching';

/**
 * Writes of one shard in order of arrival, from acceptance until they are answered. Upserts leave
 * room for deletes, because only deletes can relieve a shard that cannot keep up.
 */
export class WriteQueue {
  readonly #clock: Clock;
  readonly #accountId: AccountId;
  readonly #budget: FairShares;
  #waiting: QueuedWrite[] = [];
  #bytes = 0;

  /** `budget` covers the queues of all shards on the node; `accountId` owns the shard. */
  constructor(clock: Clock, accountId: AccountId, budget: FairShares) {
    this.#clock = clock;
    this.#accountId = accountId;
    this.#budget = budget;
  }

  /** Number of queued writes. */
  get length(): number {
    return this.#waiting.length;
  }

  /**
   * Queues a write and resolves with its acknowledgement. Rejects with UNAVAILABLE if the queue is
   * full or the account exceeds its share of the node.
   */
  push(write: ShardWrite, deadlineMs: number): Promise<WriteAck> {
    const bytes = sizeOfWrite(write);
    if (!this.#hasRoom(write, bytes)) {
      return Promise.reject(unavailable('Too many writes are queued for this collection; try again.'));
    }
    if (!isDelete(write) && !this.#budget.fits(this.#accountId, bytes)) {
      return Promise.reject(unavailable('Too many writes of this account are queued; try again.'));
    }
    this.#grow(bytes);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ write, bytes, deadlineMs, resolve, reject });
    });
  }

  /**
   * Takes the next group of writes; call `release` once they are answered. Rejects writes past
   * their deadline.
   */
  take(): QueuedWrite[] {
    this.#refuseLate();
    let count = 0;
    let bytes = 0;
    let records = 0;
    const { groupCommitMaxBytes, groupCommitMaxRecords, groupCommitMaxRequests } = INTERNAL_LIMITS;
    const [first] = this.#waiting;
    for (const next of this.#waiting) {
      if (count === groupCommitMaxRequests) break;
      if (count > 0 && (isByFilter(next.write) || (first && isByFilter(first.write)))) break;
      bytes += next.bytes;
      records += recordsOf(next.write);
      if (count > 0 && (bytes > groupCommitMaxBytes || records > groupCommitMaxRecords)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  release(writes: QueuedWrite[]): void {
    for (const { bytes } of writes) this.#grow(-bytes);
  }

  /** Rejects every queued write. */
  refuse(reason: Error): void {
    this.#refuse(this.#waiting.splice(0), reason);
  }

  #hasRoom(write: ShardWrite, bytes: number): boolean {
    const limits = INTERNAL_LIMITS;
    const [reserveRequests, reserveBytes] = isDelete(write)
      ? [0, 0]
      : [limits.shardQueueDeletesReserveRequests, limits.shardQueueDeletesReserveBytes];
    const hasRequests = this.#waiting.length < limits.shardQueueMaxRequests - reserveRequests;
    return hasRequests && this.#bytes + bytes <= limits.shardQueueMaxBytes - reserveBytes;
  }

  #refuseLate(): void {
    const monotonicMs = this.#clock.monotonicMs();
    const { late = [], inTime = [] } = Object.groupBy(this.#waiting, ({ deadlineMs }) =>
      deadlineMs <= monotonicMs ? 'late' : 'inTime',
    );
    this.#waiting = inTime;
    this.#refuse(late, unavailable('The write was queued too long; try again.'));
  }

  #refuse(writes: QueuedWrite[], reason: Error): void {
    this.release(writes);
    for (const { reject } of writes) reject(reason);
  }

  #grow(changeBytes: number): void {
    this.#bytes += changeBytes;
    this.#budget.add(this.#accountId, changeBytes);
  }
}

function recordsOf(write: ShardWrite): number {
  switch (write.kind) {
    case 'upsert':
      return write.batch.ids.length;
    case 'delete':
      return write.ids.length;
    case 'update':
      return write.updates.length;
    default:
      return write.max;
  }
}

/** Returns the bytes of a write's ids, vectors, metadata and filter. */
function sizeOfWrite(write: ShardWrite): number {
  switch (write.kind) {
    case 'upsert': {
      const { ids, metadata, vectors } = write.batch;
      return textBytes(ids) + vectors.byteLength + textBytes(metadata);
    }
    case 'delete':
      return textBytes(write.ids);
    case 'update':
      return write.updates.reduce((sum, { id, values, ...merge }) => {
        return sum + Buffer.byteLength(id) + (values?.byteLength ?? 0) + mergeBytes(merge);
      }, 0);
    case 'delete matching':
      return FILTER_BYTES;
    case 'merge matching':
      return FILTER_BYTES + mergeBytes(write);
  }
}

const mergeBytes = ({ set, unset }: MetadataMerge): number => Buffer.byteLength(set ?? '') + textBytes(unset);

function textBytes(texts: readonly string[]): number {
  return texts.reduce((total, text) => total + Buffer.byteLength(text), 0);
}
