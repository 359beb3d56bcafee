import type { Caller } from '../../contracts/actions/call.ts';
import { FairScheduler } from '../../lib/time/fair-scheduler.ts';
import type { CollectionRow } from '../../store/catalog.ts';

/** Maximum number of shards that are called without pacing. */
const UNPACED_SHARDS_MAX = 8;
/** Estimated time in ms to make one call to a shard and to process its response. */
const CALL_MS = 0.1;
/** Time in ms per turn of the event loop for such calls. */
const TURN_MS = 1;

/**
 * Spreads the calls of collections with many shards over turns of the event loop.
 *
 * All such calls of the process together take about a millisecond per turn, so a request to one
 * shard never waits for another request's 256 calls. Accounts take turns. See
 * docs/internals/overload.md.
 */
export class ShardCallPace {
  readonly #turns = new FairScheduler({ turnMs: TURN_MS, leastMs: CALL_MS });

  /** Returns `caller`, paced if the collection has many shards. */
  of(caller: Caller, { accountId, shards }: Pick<CollectionRow, 'accountId' | 'shards'>): Caller {
    if (shards <= UNPACED_SHARDS_MAX) return caller;
    const turn = (): Promise<void> => new Promise((begin) => this.#turns.submit(accountId, begin));
    return {
      ...(caller.meta !== undefined && { meta: caller.meta }),
      ...(caller.signal !== undefined && { signal: caller.signal }),
      async call(action, params, options) {
        if (action.startsWith('shards.')) {
          await turn();
          caller.signal?.throwIfAborted();
        }
        return caller.call(action, params, options);
      },
    };
  }
}
