import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../../lib/time/backoff.ts';
import type { AnchoringOptions } from '../context.ts';
import { mayRetireUndone, retire } from './retire.ts';

const PAUSE = { minMs: 250, maxMs: 60_000 };

type Options = Pick<AnchoringOptions, 'store' | 'headsAt' | 'log'>;

/**
 * Has every row retire while the ledger is off, in the background: each collection's shards are
 * asked first. What cannot be asked for now is asked later; a collection that contradicts what was
 * confirmed keeps its row. Resolves when nothing is left to come back for, or after the signal.
 */
export async function retireAll(options: Options, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    if (await retireOnce(options, signal)) return;
    await delay(backoffMs(failures, PAUSE), undefined, { signal }).catch(() => undefined);
  }
}

/** Whether there is nothing to come back for. */
async function retireOnce(options: Options, signal: AbortSignal): Promise<boolean> {
  let isDone = true;
  try {
    for await (const rows of options.store.anchors.all()) {
      for (const row of rows) {
        if (signal.aborted) return true;
        if (!mayRetireUndone(row)) continue;
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
