/**
 * Receives shards' responses page by page. A response in one piece would be decoded within a single
 * turn of the event loop.
 *
 * A turn decodes a few pages at most, for which accounts take turns. The memory of all responses
 * being gathered is bounded. A shard that closes or moves forgets the snapshot that its pages come
 * from. The read then starts over, a few times, before it fails with UNAVAILABLE. See
 * docs/internals/search.md.
 */
import { type Caller, call } from '../../../contracts/actions/call.ts';
import { recordBytes } from '../../../lib/admission/answer-size.ts';
import { FairPermits } from '../../../lib/admission/fair-permits.ts';
import type { MemoryBudget } from '../../../lib/admission/memory-budget.ts';
import { ProvecError, unavailable } from '../../../lib/errors.ts';
import type { AnswerPage, PageItem } from '../../../lib/shard/match.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import type { OrderedList } from './merge-lists.ts';

/** Maximum size of a later page; decodes in about two milliseconds. */
const PAGE_MAX_BYTES = 2 * 1024 * 1024;
/** Maximum size of a first page, enough for most responses. First pages are not throttled. */
const FIRST_PAGE_MAX_BYTES = 1024 * 1024;
/** Maximum size of all shards' first pages of one response. */
const FIRST_PAGES_MAX_BYTES = 8 * 1024 * 1024;
/** Maximum number of later pages in flight to this process. */
const PAGES_MAX = 4;
/** An account may have this many times the pages in flight that it leaves free: three of four. */
const SHARE_FACTOR = 3;
const ATTEMPTS_MAX = 4;

/** Options of each call; `timeout` is in ms and includes the wait for a permit. */
type CallOptions = { timeout?: number };

/** Returns a shard's items from the first page on; `reach` wraps the call for each later page. */
export type Follow = <T extends PageItem>(shard: ShardSpec, first: AnswerPage<T>, reach?: Reach) => OrderedList<T>;
type Reach = (page: Promise<AnswerPage<PageItem>>) => Promise<AnswerPage<PageItem>>;

/** Thrown when the shard no longer has the snapshot that was being read. */
export class SnapshotLostError extends Error {
  override name = 'SnapshotLostError';
}

/** Thrown when a shard becomes unreachable after its first page. Its items must not be returned. */
export class ShardLostError extends Error {
  override name = 'ShardLostError';
}

export class ShardPages {
  readonly #permits = new FairPermits(PAGES_MAX, SHARE_FACTOR);
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /**
   * Runs `read`, and repeats it if a shard has forgotten its snapshot. Reserves memory for the
   * items meanwhile. Throws UNAVAILABLE if memory runs out or if shards keep moving.
   */
  gather<T>(caller: Caller, account: string, options: CallOptions, read: (follow: Follow) => Promise<T>): Promise<T> {
    return retryLostSnapshots(async () => {
      const hold = this.#budget.take(account, 0);
      const leaves: (() => void)[] = [];
      let bytes = 0;
      let isOver = false;
      const counted = <I extends PageItem>(items: I[]): I[] => {
        bytes += recordBytes(items);
        // A page can still arrive after another shard's response failed.
        if (!isOver) hold.resize(bytes);
        return items;
      };
      const follow: Follow = <I extends PageItem>(
        shard: ShardSpec,
        first: AnswerPage<I>,
        reach: Reach = (page) => page,
      ) => {
        let { rest } = first;
        // Best effort: the shard forgets the rest after a while anyway.
        const leave = (): void => {
          if (rest !== null)
            call(caller, 'shards.leave', { shard, rest }, { signal: undefined }).catch(() => undefined);
          rest = null;
        };
        leaves.push(leave);
        if (isOver) leave();
        const more = async (): Promise<I[]> => {
          if (rest === null) return [];
          const next = this.#next(caller, account, shard, rest, options).then((page) => {
            rest = page.rest;
            if (isOver) leave();
            return page;
          });
          return counted(((await reach(next)) as AnswerPage<I>).items);
        };
        return { items: counted(first.items), more };
      };
      try {
        return await read(follow);
      } finally {
        isOver = true;
        for (const leave of leaves) leave();
        hold.release();
      }
    });
  }

  /** Throws SnapshotLostError, and UNAVAILABLE if no permit is free in time. */
  async #next(
    caller: Caller,
    account: string,
    shard: ShardSpec,
    rest: string,
    options: CallOptions,
  ): Promise<AnswerPage<PageItem>> {
    const { release, leftMs } = await this.#permit(caller, account, options.timeout);
    try {
      const params = { shard, rest, pageMaxBytes: PAGE_MAX_BYTES };
      const page = await call(caller, 'shards.next', params, {
        ...options,
        ...(leftMs !== null && { timeout: leftMs }),
      });
      if (page === null) throw new SnapshotLostError();
      return page;
    } finally {
      // Released in the next turn of the event loop, so that no turn decodes more pages than the
      // limit.
      setImmediate(release);
    }
  }

  /** Waits for a permit. Also returns how much is left of `timeoutMs`. */
  async #permit(
    { signal }: Caller,
    account: string,
    timeoutMs?: number,
  ): Promise<{ release: () => void; leftMs: number | null }> {
    if (timeoutMs === undefined) return { release: await this.#permits.acquire(account, signal), leftMs: null };
    const askedMs = performance.now();
    const late = AbortSignal.timeout(timeoutMs);
    const both = signal === undefined ? late : AbortSignal.any([signal, late]);
    const release = await this.#permits.acquire(account, both).catch(() => {
      signal?.throwIfAborted();
      throw unavailable('The service is reading too many long results; try again later.');
    });
    return { release, leftMs: Math.max(1, timeoutMs - (performance.now() - askedMs)) };
  }
}

/** Returns the maximum size of a first page if `answers` responses are read at once. */
export function firstPageMaxBytes(answers: number): number {
  return Math.min(FIRST_PAGE_MAX_BYTES, Math.ceil(FIRST_PAGES_MAX_BYTES / answers));
}

async function retryLostSnapshots<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; ) {
    try {
      return await read();
    } catch (error) {
      // The loop ends, because each lost shard is left out of the next attempt.
      if (error instanceof ShardLostError) continue;
      if (!(error instanceof SnapshotLostError)) throw error;
      if (attempt++ === ATTEMPTS_MAX)
        throw new ProvecError('UNAVAILABLE', 'Shards of the collection moved while the service read them; try again.', {
          cause: error,
        });
    }
  }
}
