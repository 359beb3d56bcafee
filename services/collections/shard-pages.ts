/**
 * Answers of shards, taken in page by page: what came in one piece would be taken in within one
 * turn of the event loop.
 *
 * Promises: a turn takes in a few pages at most, and what all answers together hold of memory is
 * bounded while they are gathered.
 * How it fails: a shard that was closed or moved has forgotten what was read of it. Everything is
 * read anew then, a few times, and then it is UNAVAILABLE.
 * See docs/internals/search.md.
 */
import { Semaphore } from 'async-mutex';
import { type Caller, call } from '../../lib/actions/call.ts';
import { recordBytes } from '../../lib/admission/answer-size.ts';
import type { MemoryBudget } from '../../lib/admission/memory-budget.ts';
import { ProvecError } from '../../lib/errors.ts';
import type { Page, PageItem } from '../../lib/shard/match.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import type { OrderedList } from './merge-lists.ts';

/** Taken in within two milliseconds or so. */
const PAGE_MAX_BYTES = 2 * 1024 * 1024;
/** What nearly every answer fits in: first pages do not wait for others. */
const FIRST_PAGE_MAX_BYTES = 1024 * 1024;
/** The first pages of all shards of one answer. */
const FIRST_PAGES_MAX_BYTES = 8 * 1024 * 1024;
/** Further pages on their way to this process. */
const PAGES_MAX = 4;
const ATTEMPTS_MAX = 4;

/** How long a call waits; `awayMaxMs`: for a shard that is away. Default: patiently. */
export type Waits = { timeout?: number; awayMaxMs?: number | undefined };

/** A shard's answer from its first page on; `reach` is what awaits each next one. */
export type Follow = <T extends PageItem>(shard: ShardSpec, first: Page<T>, reach?: Reach) => OrderedList<T>;
type Reach = (page: Promise<Page<PageItem>>) => Promise<Page<PageItem>>;

/** The shard does not keep what was read of it any more. */
export class Forgotten extends Error {
  override name = 'Forgotten';
}

/** A shard whose answer has begun is out of reach: what came of it must not be told. */
export class Lost extends Error {
  override name = 'Lost';
}

export class ShardPages {
  readonly #pages = new Semaphore(PAGES_MAX);
  readonly #budget: MemoryBudget;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
  }

  /**
   * Runs `read` until the shards keep what it follows, and holds memory for that meanwhile. Throws
   * UNAVAILABLE when there is no more memory, and when shards keep moving.
   */
  gather<T>(caller: Caller, account: string, waits: Waits, read: (follow: Follow) => Promise<T>): Promise<T> {
    return whileForgotten(async () => {
      const hold = this.#budget.take(account, 0);
      const leaves: (() => void)[] = [];
      let bytes = 0;
      let isOver = false;
      const counted = <I extends PageItem>(items: I[]): I[] => {
        bytes += recordBytes(items);
        // A page that was on its way when another shard's answer failed.
        if (!isOver) hold.resize(bytes);
        return items;
      };
      const follow: Follow = <I extends PageItem>(shard: ShardSpec, first: Page<I>, reach: Reach = (page) => page) => {
        let { rest } = first;
        // What is left is forgotten after a while, too.
        leaves.push(() => {
          if (rest !== null)
            call(caller, 'shards.leave', { shard, rest }, { signal: undefined }).catch(() => undefined);
          rest = null;
        });
        const more = async (): Promise<I[]> => {
          if (rest === null) return [];
          const page = (await reach(this.#next(caller, shard, rest, waits))) as Page<I>;
          rest = page.rest;
          return counted(page.items);
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

  /** Throws Forgotten. */
  async #next(caller: Caller, shard: ShardSpec, rest: string, waits: Waits): Promise<Page<PageItem>> {
    const [, release] = await this.#pages.acquire();
    try {
      const page = await call(caller, 'shards.next', { shard, rest, pageMaxBytes: PAGE_MAX_BYTES }, { ...waits });
      if (page === null) throw new Forgotten();
      return page;
    } finally {
      // In the next turn of the event loop: one turn takes in no more than that.
      setImmediate(release);
    }
  }
}

/** What the first page of each of `answers` shards may have. */
export function firstPageMaxBytes(answers: number): number {
  return Math.min(FIRST_PAGE_MAX_BYTES, Math.ceil(FIRST_PAGES_MAX_BYTES / answers));
}

async function whileForgotten<T>(read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; ) {
    try {
      return await read();
    } catch (error) {
      // There are only so many shards to lose.
      if (error instanceof Lost) continue;
      if (!(error instanceof Forgotten)) throw error;
      if (attempt++ === ATTEMPTS_MAX)
        throw new ProvecError('UNAVAILABLE', 'Shards of the collection moved while the service read them; try again.', {
          cause: error,
        });
    }
  }
}
