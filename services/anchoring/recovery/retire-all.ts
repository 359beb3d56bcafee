import { backoffMs } from '../../../lib/time/backoff.ts';
import { pause } from '../../../lib/time/timers.ts';
import type { AnchoringOptions } from '../context.ts';
import { mayRetireWithLedgerOff, retire } from './retire.ts';

const PAUSE = { minMs: 250, maxMs: 60_000 };

type Options = Pick<AnchoringOptions, 'store' | 'headsAt' | 'log'>;

/**
 * Retires all rows while the ledger is off, in the background, after checking each collection's
 * shards. Retries shards that cannot be reached; a collection that contradicts its confirmed root
 * keeps its row. Resolves when nothing is left to retry, or after the signal.
 */
export async function retireAll(options: Options, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    if (await retireOnce(options, signal)) return;
    await pause(backoffMs(failures, PAUSE), signal);
  }
}

/** Returns true if nothing is left to retry. */
async function retireOnce(options: Options, signal: AbortSignal): Promise<boolean> {
  let isDone = true;
  try {
    for await (const rows of options.store.anchors.all()) {
      for (const row of rows) {
        if (signal.aborted) return true;
        if (!mayRetireWithLedgerOff(row)) continue;
        await retire(row, options).catch(() => {
          isDone = false;
        });
      }
    }
  } catch (error) {
    options.log.warn({ err: error }, 'could not retire the collections of plans without anchoring; trying again');
    return false;
  }
  return isDone;
}
