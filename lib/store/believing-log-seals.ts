import type { ShardHead } from '../shard/head.ts';
import type { ShardKey } from '../shard/key.ts';
import { isPossibleEntry } from './log-resealing.ts';
import { type LinkedEntry, LogSeals } from './log-seals.ts';

/**
 * Takes a log for what it says, whoever sealed it. For whoever holds a store against the ledger
 * whose secret is lost, and for nobody else: no service opens a store with it.
 */
export class BelievingLogSeals extends LogSeals {
  override linked({ entry }: LinkedEntry): LinkedEntry['entry'] | null {
    return isPossibleEntry(entry) ? entry : null;
  }

  override sealedHead(_: ShardKey, head: ShardHead): ShardHead {
    return head;
  }
}
