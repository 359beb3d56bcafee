import { type Caller, call } from '../../lib/actions/call.ts';
import { committedCut } from '../../lib/shard/cut.ts';
import type { Cut, ShardHead } from '../../lib/shard/head.ts';
import { shardKey } from '../../lib/shard/key.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import type { ShardLog } from '../../lib/store/log.ts';
import { CoalescedReads } from '../../lib/time/coalesced-reads.ts';

/** A shard whose head does not come: it is read from the log. */
const HEAD_MAX_MS = 10_000;

/**
 * Heads of shards, read once for all requests that wait for them: each request gets heads that were
 * read after it asked, so that every write that it may know of is in them.
 */
export class CollectionHeads {
  readonly #log: Pick<ShardLog, 'heads'>;
  readonly #newest = new CoalescedReads<ShardHead>();
  readonly #committed = new CoalescedReads<Cut>();

  constructor(log: Pick<ShardLog, 'heads'>) {
    this.#log = log;
  }

  /** As the shard's holder has it. `caller` must not end with a request: others wait as well. */
  newest(caller: Caller, shard: ShardSpec): Promise<ShardHead> {
    return this.#newest.get(shardKey(shard.collectionId, shard.index), () =>
      call(caller, 'shards.head', { shard }, { timeout: HEAD_MAX_MS }),
    );
  }

  /** All of a collection, as the log has them. Throws StoreError. */
  committed(row: CollectionRow): Promise<Cut> {
    return this.#committed.get(row.id, () => committedCut(this.#log, row));
  }
}
