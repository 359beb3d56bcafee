/**
 * Reads records from shards page by page, because an answer in one piece would be taken in within
 * one turn of the event loop.
 *
 * Promises: everything told of a shard is of one state of it. A turn takes in a few pages at most.
 * What all answers together hold of memory is bounded while they are gathered.
 * How it fails: a shard that was closed or moved is read anew, a few times, and then UNAVAILABLE. A
 * shard that is away for longer than `awayMaxMs` is SHARD_UNAVAILABLE. A partial answer begins anew
 * without a lost shard.
 * See docs/internals/search.md.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Semaphore } from 'async-mutex';
import { type Caller, call } from '../../lib/actions/call.ts';
import type { FacetsResult, QueryResult } from '../../lib/actions/collections.ts';
import { answerBudget, recordBytes } from '../../lib/admission/answer-size.ts';
import type { MemoryBudget } from '../../lib/admission/memory-budget.ts';
import { isProvecError, ProvecError } from '../../lib/errors.ts';
import { TopValues, type ValueCount, ValueCounts } from '../../lib/filter/value-counts.ts';
import { compareUtf8 } from '../../lib/records/utf8-order.ts';
import { isShardAway } from '../../lib/shard/away.ts';
import type { FetchedRecord, ListedRecord, Page, PageItem, QueryOptions, ShardMatch } from '../../lib/shard/match.ts';
import type { Listing, NamespacesAfter, ShardReads } from '../../lib/shard/read.ts';
import type { RecordScope } from '../../lib/shard/scope.ts';
import type { ShardSpec } from '../../lib/shard/spec.ts';
import { mergeLists } from './merge-lists.ts';

/** Taken in within two milliseconds or so. */
const PAGE_MAX_BYTES = 2 * 1024 * 1024;
/** What nearly every answer fits in: first pages do not wait for others. */
const FIRST_PAGE_MAX_BYTES = 1024 * 1024;
/** The first pages of all shards of one answer. */
const FIRST_PAGES_MAX_BYTES = 8 * 1024 * 1024;
/** Further pages on their way to this process. */
const PAGES_MAX = 4;
const ATTEMPTS_MAX = 4;
/** Values that are compared in one turn of the event loop. */
const OFFERS_PER_TURN = 10_000;
/** How long an answer that may be partial waits for a shard that cannot be reached. */
export const PARTIAL_WAIT_MS = 3_000;

type Gathered = readonly PageItem[];

/** Ids by the shard they belong to. */
type IdsByShard = readonly { shard: ShardSpec; ids: string[] }[];

export interface ReadTerms {
  /** Whether copies will do. */
  eventual?: boolean;
  account?: string;
  /** Default: a shard that is away is waited for. */
  awayMaxMs?: number | undefined;
}

/** What is left of one shard's answer. */
interface Rest<T = unknown> {
  /** The next page; empty at the end. Throws Forgotten. */
  more(): Promise<T[]>;
  leave(): void;
}

/** The shard does not keep what was read of it any more. */
class Forgotten extends Error {
  override name = 'Forgotten';
}

/** A shard whose answer has begun is out of reach: what came of it must not be told. */
class Lost extends Error {
  override name = 'Lost';
}

export class ShardReader {
  readonly #pages = new Semaphore(PAGES_MAX);
  readonly #onFault: (error: unknown) => void;
  readonly #budget: MemoryBudget;

  /** `onFault` is told of errors that leave a shard out of a partial answer and should not be. */
  constructor(onFault: (error: unknown) => void = () => undefined, budget = answerBudget()) {
    this.#onFault = onFault;
    this.#budget = budget;
  }

  /** The records that exist, by id. */
  fetch(
    caller: Caller,
    parts: IdsByShard,
    { eventual = false, account = '', awayMaxMs }: ReadTerms = {},
  ): Promise<Map<string, FetchedRecord>> {
    return this.#gather(account, async (gathered, rests) => {
      const pageMaxBytes = firstPageMaxBytes(parts.length);
      const found = new Map<string, FetchedRecord>();
      const read = async ({ shard, ids }: IdsByShard[number]): Promise<void> => {
        const params = { shard, ids, pageMaxBytes, eventual, openMaxMs: awayMaxMs };
        const page = await call(caller, 'shards.fetch', params, { awayMaxMs });
        const rest = this.#restOf<FetchedRecord>(caller, shard, page.rest);
        rests.push(rest);
        for (let { items } = page; items.length > 0; items = await rest.more()) {
          gathered(items);
          for (const record of items) found.set(record.id, record);
        }
      };
      await Promise.all(parts.map(read));
      return found;
    });
  }

  /** The best matches over all shards, best first, to each of the queries. */
  query(
    caller: Caller,
    shards: readonly ShardSpec[],
    queries: readonly QueryOptions[],
    { eventual = false, partial = false, account = '', awayMaxMs }: ReadTerms & { partial?: boolean } = {},
  ): Promise<QueryResult[]> {
    // Their first page came and a later one did not, in time: they are not asked again.
    const lost = new Set<ShardSpec>();
    return this.#gather(account, async (gathered, rests) => {
      const reached = shards.filter((shard) => !lost.has(shard));
      const pageMaxBytes = firstPageMaxBytes(shards.length * queries.length);
      const options = partial ? { timeout: PARTIAL_WAIT_MS } : { awayMaxMs };
      const openMaxMs = partial ? undefined : awayMaxMs;
      const unlessLost = <T>(answer: Promise<T>) => (partial ? this.#unlessUnreachable(answer) : answer);
      const listOf = (shard: ShardSpec, { items, rest }: Page<ShardMatch>) => {
        const left = this.#restOf<ShardMatch>(caller, shard, rest, options);
        rests.push(left);
        gathered(items);
        const more = async (): Promise<ShardMatch[]> => {
          const page = await unlessLost(left.more());
          if (page !== null) {
            gathered(page);
            return page;
          }
          lost.add(shard);
          throw new Lost();
        };
        return { items, more };
      };
      const ask = async (shard: ShardSpec) => {
        const terms = { shard, pageMaxBytes, eventual, openMaxMs };
        const [query] = queries;
        const pages =
          queries.length === 1
            ? [await call(caller, 'shards.query', { ...terms, query }, options)]
            : await call(caller, 'shards.queries', { ...terms, queries }, options);
        return pages.map((page) => listOf(shard, page));
      };
      const answers = (await Promise.all(reached.map((shard) => unlessLost(ask(shard))))).filter(
        (lists) => lists !== null,
      );
      const [total, ok] = [shards.length, answers.length];
      const merged = queries.map(async ({ topK }, at): Promise<QueryResult> => {
        const matches = await mergeLists(
          answers.map((lists) => lists[at]),
          topK,
          ranksBefore,
        );
        return partial ? { matches, shards: { total, ok, failed: total - ok } } : { matches };
      });
      return Promise.all(merged);
    });
  }

  /** The first records of all shards, in the order of their ids' UTF-8 bytes. */
  list(
    caller: Caller,
    shards: readonly ShardSpec[],
    listing: Listing & RecordScope,
    { eventual = false, account = '', awayMaxMs }: ReadTerms = {},
  ): Promise<ListedRecord[]> {
    return this.#gather(account, async (gathered, rests) => {
      const asked = { op: 'list', ...listing, pageMaxBytes: firstPageMaxBytes(shards.length) } as const;
      const ask = async (shard: ShardSpec) => {
        const params = { shard, read: asked, eventual, openMaxMs: awayMaxMs };
        const page = (await call(caller, 'shards.read', params, { awayMaxMs })) as ShardReads['list']['result'];
        const rest = this.#restOf<ListedRecord>(caller, shard, page.rest);
        rests.push(rest);
        gathered(page.items);
        const more = async (): Promise<ListedRecord[]> => {
          const items = await rest.more();
          gathered(items);
          return items;
        };
        return { items: page.items, more };
      };
      const lists = await Promise.all(shards.map(ask));
      return mergeLists(lists, listing.limit, (a, b) => compareUtf8(a.id, b.id) < 0);
    });
  }

  /** The values that a field has in the records that match, those that occur most first. */
  facets(
    caller: Caller,
    shards: readonly ShardSpec[],
    { field, limit, ...scope }: RecordScope & { field: string; limit: number },
    { eventual = false, account = '', awayMaxMs }: ReadTerms = {},
  ): Promise<FacetsResult> {
    return this.#gather(account, async (gathered, rests) => {
      const pageMaxBytes = firstPageMaxBytes(shards.length);
      // Of several shards each must tell all: what one has most may be rare in the others.
      const asked = { op: 'facets', ...scope, field, limit: shards.length === 1 ? limit : null, pageMaxBytes } as const;
      const counts = new ValueCounts();
      let missing = 0;
      const read = async (shard: ShardSpec): Promise<void> => {
        const params = { shard, read: asked, eventual, openMaxMs: awayMaxMs };
        const answer = (await call(caller, 'shards.read', params, { awayMaxMs })) as ShardReads['facets']['result'];
        missing += answer.missing;
        const rest = this.#restOf<ValueCount>(caller, shard, answer.page.rest);
        rests.push(rest);
        for (let { items } = answer.page; items.length > 0; items = await rest.more()) {
          gathered(items);
          for (const [value, count] of items) counts.add(value, count);
        }
      };
      await Promise.all(shards.map(read));
      const values = await topValues(counts, limit);
      return { values: values.map(([value, count]) => ({ value, count })), missing };
    });
  }

  /** The first namespaces of all shards, by name, and how many records each holds. */
  namespaces(
    caller: Caller,
    shards: readonly ShardSpec[],
    asked: NamespacesAfter,
    { account = '', awayMaxMs }: ReadTerms = {},
  ): Promise<[name: string, count: number][]> {
    return this.#gather(account, async (gathered, rests) => {
      const read = { op: 'namespaces', ...asked, pageMaxBytes: firstPageMaxBytes(shards.length) } as const;
      const counts = new Map<string, number>();
      const add = async (shard: ShardSpec): Promise<void> => {
        const params = { shard, read, openMaxMs: awayMaxMs };
        const page = (await call(caller, 'shards.read', params, { awayMaxMs })) as ShardReads['namespaces']['result'];
        const rest = this.#restOf<ValueCount>(caller, shard, page.rest);
        rests.push(rest);
        for (let { items } = page; items.length > 0; items = await rest.more()) {
          gathered(items);
          for (const [name, count] of items) counts.set(name as string, (counts.get(name as string) ?? 0) + count);
        }
      };
      await Promise.all(shards.map(add));
      // What is among the first of all shards is among the first of each that has it.
      return [...counts].sort(([a], [b]) => compareUtf8(a, b)).slice(0, asked.limit);
    });
  }

  /**
   * Runs `read` until the shards keep what it reads, and holds memory for what it says that it has
   * gathered; what it says is left of answers need not be kept after it. Throws UNAVAILABLE when
   * there is no more memory.
   */
  #gather<T>(account: string, read: (gathered: (items: Gathered) => void, rests: Rest[]) => Promise<T>): Promise<T> {
    return whileForgotten(async () => {
      const hold = this.#budget.take(account, 0);
      const rests: Rest[] = [];
      let bytes = 0;
      let isOver = false;
      const gathered = (items: Gathered): void => {
        bytes += recordBytes(items);
        // A page that was on its way when another shard's answer failed.
        if (!isOver) hold.resize(bytes);
      };
      try {
        return await read(gathered, rests);
      } finally {
        isOver = true;
        for (const { leave } of rests) leave();
        hold.release();
      }
    });
  }

  #restOf<T extends PageItem>(
    caller: Caller,
    shard: ShardSpec,
    first: string | null,
    options: { timeout?: number; awayMaxMs?: number | undefined } = {},
  ): Rest<T> {
    let rest = first;
    return {
      more: async () => {
        if (rest === null) return [];
        const params = { shard, rest, pageMaxBytes: PAGE_MAX_BYTES };
        const page = await this.#inTurn(() => call(caller, 'shards.next', params, { ...options }));
        if (page === null) throw new Forgotten();
        rest = page.rest;
        return (page as Page<T>).items;
      },
      leave() {
        // It is forgotten after a while, too.
        if (rest !== null) call(caller, 'shards.leave', { shard, rest }).catch(() => undefined);
        rest = null;
      },
    };
  }

  /**
   * A place is given on in the next turn of the event loop: one turn takes in no more than that.
   */
  async #inTurn<T>(read: () => Promise<T>): Promise<T> {
    const [, leave] = await this.#pages.acquire();
    try {
      return await read();
    } finally {
      setImmediate(leave);
    }
  }

  /**
   * Null where nobody answered for the shard in time; what the shard itself says is wrong with the
   * request is thrown.
   */
  async #unlessUnreachable<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      const isFinal = isProvecError(error) && error.code !== 'UNAVAILABLE' && !isShardAway(error);
      if (error instanceof Forgotten || isFinal) throw error;
      if (!isProvecError(error) && !(error instanceof Error && error.name === 'RequestTimeoutError'))
        this.#onFault(error);
      return null;
    }
  }
}

/** Whether `a` ranks before `b`: the higher score first, ties by id in the order of UTF-8 bytes. */
export function ranksBefore(a: ShardMatch, b: ShardMatch): boolean {
  return a.score === b.score ? compareUtf8(a.id, b.id) < 0 : a.score > b.score;
}

async function topValues({ entries }: ValueCounts, limit: number): Promise<readonly ValueCount[]> {
  const top = new TopValues(limit);
  for (const [at, entry] of entries.entries()) {
    top.offer(entry);
    if (at % OFFERS_PER_TURN === OFFERS_PER_TURN - 1) await nextTurn();
  }
  return top.best;
}

function firstPageMaxBytes(shards: number): number {
  return Math.min(FIRST_PAGE_MAX_BYTES, Math.ceil(FIRST_PAGES_MAX_BYTES / shards));
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
