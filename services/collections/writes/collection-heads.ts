import { type Caller, call } from '../../../contracts/actions/call.ts';
import { committedCut } from '../../../lib/shard/cut.ts';
import type { Cut, ShardHead } from '../../../lib/shard/head.ts';
import { shardKey } from '../../../lib/shard/key.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { CoalescedReads } from '../../../lib/time/coalesced-reads.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { ShardLog } from '../../../store/log.ts';
import type { ShardCallPace } from '../paced-caller.ts';

/** Timeout in ms for a shard's head; after it the head is read from the log. */
const HEAD_MAX_MS = 10_000;

/**
 * Reads the heads of shards, once for all requests that wait for them. Each request gets heads that
 * were read after it asked, so they include every write that it can know of.
 */
export class CollectionHeads {
  readonly #log: Pick<ShardLog, 'heads'>;
  readonly #caller: Caller;
  readonly #pace: ShardCallPace;
  readonly #newest = new CoalescedReads<ShardHead>();
  readonly #committed = new CoalescedReads<Cut>();

  /** `caller` must not belong to a request, since requests share the calls. */
  constructor(log: Pick<ShardLog, 'heads'>, caller: Caller, pace: ShardCallPace) {
    this.#log = log;
    this.#caller = caller;
    this.#pace = pace;
  }

  /** Returns the head as the shard's owner has it. */
  newest(shard: ShardSpec): Promise<ShardHead> {
    const { accountId, collectionId, index, of: shards } = shard;
    const caller = this.#pace.of(this.#caller, { accountId, shards });
    return this.#newest.get(shardKey(collectionId, index), () =>
      call(caller, 'shards.head', { shard }, { timeout: HEAD_MAX_MS }),
    );
  }

  /** Returns all heads of a collection as the log has them. Throws StoreError. */
  committed(row: CollectionRow): Promise<Cut> {
    return this.#committed.get(row.id, () => committedCut(this.#log, row));
  }
}
