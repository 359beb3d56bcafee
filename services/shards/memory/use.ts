import { type AwayReason, shardAway } from '../../../lib/shard/away.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { ShardWorker } from '../worker/pool.ts';

/** How a shard is used. */
export interface Use {
  /** Where it opens; default: the worker with the least to do. */
  on?: ShardWorker | undefined;
  /** How long it may take until it is open, in milliseconds; default: as long as it takes. */
  openMaxMs?: number | undefined;
}

/** The time that a use of a shard leaves for its closing and opening. */
export class Patience {
  readonly #index: number;
  readonly #endMs: number;

  constructor({ index }: ShardSpec, { openMaxMs = Number.POSITIVE_INFINITY }: Use) {
    this.#index = index;
    this.#endMs = performance.now() + openMaxMs;
  }

  /**
   * Ends as `work` does, or throws SHARD_UNAVAILABLE for the reason given when the time is over:
   * `work` goes on by itself then.
   */
  async over(work: Promise<unknown>, reason: AwayReason): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      if (this.#endMs === Number.POSITIVE_INFINITY) return;
      timer = setTimeout(() => reject(shardAway(this.#index, reason)), this.#endMs - performance.now());
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
