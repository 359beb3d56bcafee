import { type Caller, call } from '../../../contracts/actions/call.ts';
import { committedCut } from '../../../lib/shard/cut.ts';
import type { Cut, ShardHead } from '../../../lib/shard/head.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { CoalescedReads } from '../../../lib/time/coalesced-reads.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { ShardLog } from '../../../store/log.ts';

/** Timeout in ms for a shard's head; after it the head is read from the log. */
const HEAD_MAX_MS = 10_000;

/**
 * Reads the heads of shards, once for all requests that wait for them. Each request gets heads that
 * were read after it asked, so they include every write that it can know of.
 */
export class CollectionHeads {
  readonly #log: Pick<ShardLog, 'heads'>;
  readonly #newest = new CoalescedReads<ShardHead>();
  readonly #committed = new CoalescedReads<Cut>();

  constructor(log: Pick<ShardLog, 'heads'>) {
    this.#log = log;
  }

  /**
   * Returns the head as the shard's owner has it. `caller` must not be bound to a single request,
   * since others share the call.
   */
  newest(caller: Caller, shard: ShardSpec): Promise<ShardHead> {
    return this.#newest.get(shardKey(shard.collectionId, shard.index), () =>
      call(caller, 'shards.head', { shard }, { timeout: HEAD_MAX_MS }),
    );
  }

  /** Returns all heads of a collection as the log has them. Throws StoreError. */
  committed(row: CollectionRow): Promise<Cut> {
    return this.#committed.get(row.id, () => committedCut(this.#log, row));
  }
}
