import type { Caller } from '../../lib/actions/call.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';
import { FairScheduler } from '../../lib/time/fair-scheduler.ts';

/** Collections with more shards are asked a few shards at a time. */
const UNPACED_SHARDS_MAX = 8;
/** Estimate of what it takes to call a shard and to take its answer. */
const CALL_MS = 0.1;
/** What a turn of the event loop has for such calls. */
const TURN_MS = 1;

/**
 * Spreads the calls of collections with many shards over turns of the event loop.
 *
 * Promises: all such calls of the process together take about a millisecond of a turn, so a request
 * that needs one shard never waits for 256 calls of another. Accounts take turns.
 * See docs/internals/overload.md.
 */
export class ShardCallPace {
  readonly #turns = new FairScheduler({ turnMs: TURN_MS, leastMs: CALL_MS });

  /** `caller`, for a request about a collection. */
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
