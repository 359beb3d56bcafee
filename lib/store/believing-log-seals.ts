import { isPossibleEntry } from './log-resealing.ts';
import { type LinkedEntry, LogSeals } from './log-seals.ts';

/**
 * Takes a log for what it says, whoever sealed it. For whoever holds a store against the ledger
 * whose secret is lost, and for nobody else: no service opens a store with it.
 */
export class BelievingLogSeals extends LogSeals {
  override isLinked({ entry }: LinkedEntry): boolean {
    return isPossibleEntry(entry);
  }

  override isHead(): boolean {
    return true;
  }
}
