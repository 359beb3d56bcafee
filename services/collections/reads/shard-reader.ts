/**
 * Reads from all shards of a collection and merges their responses.
 *
 * Everything returned from a shard belongs to one state of it, except counts of namespaces. A shard
 * that is unavailable for longer than `openMaxMs` fails the read with SHARD_UNAVAILABLE. A partial
 * read starts over without a shard that it lost. See shard-pages.ts and docs/internals/search.md.
 */

import { type Caller, call } from '../../../contracts/actions/call.ts';
import type { FacetsResult, QueryResult, WithAbsentFields } from '../../../contracts/actions/collections.ts';
import { answerBudget } from '../../../lib/admission/answer-size.ts';
import { itemAt } from '../../../lib/checked-access.ts';
import { isProvecError } from '../../../lib/errors.ts';
import { TopValues, type ValueCount, ValueCounts } from '../../../lib/filter/value-counts.ts';
import { compareUtf8 } from '../../../lib/records/utf8-order.ts';
import type { FieldReport } from '../../../lib/shard/field-report.ts';
import type {
  AnswerPage,
  FetchedRecord,
  ListedRecord,
  PageItem,
  QueryOptions,
  ShardMatch,
} from '../../../lib/shard/match.ts';
import type { ListOptions, NamespaceRange, ShardRead, ShardReadOp, ShardReads } from '../../../lib/shard/read.ts';
import type { RecordScope } from '../../../lib/shard/scope.ts';
import { isShardUnavailable } from '../../../lib/shard/shard-unavailable.ts';
import type { ShardSpec } from '../../../lib/shard/spec.ts';
import { mergeFieldReports } from './absent-fields.ts';
import { mergeInto, mergeLists, type OrderedList } from './merge-lists.ts';
import { namesAtOnce, shardNames } from './shard-names.ts';
import { type Follow, firstPageMaxBytes, ShardLostError, ShardPages, SnapshotLostError } from './shard-pages.ts';
import { TurnMeter } from './turn-meter.ts';

/** Estimated time in ns to process one record or name. */
const ITEM_NS = 300;
/** Timeout in ms for each shard of a read that may be partial. */
export const PARTIAL_WAIT_MS = 3_000;

type IdsByShard = readonly { shard: ShardSpec; ids: string[] }[];

export interface ReadOptions {
  /** True if replicas may answer. */
  eventual?: boolean | undefined;
  account?: string;
  /** Time in ms to wait for an unavailable shard; default: no limit of its own. */
  openMaxMs?: number | undefined;
}

export class ShardReader {
  readonly #onFault: (error: unknown) => void;
  readonly #pages: ShardPages;
  readonly #turns = new TurnMeter();

  /** `onFault` receives unexpected errors that exclude a shard from a partial result. */
  constructor(onFault: (error: unknown) => void = () => undefined, budget = answerBudget()) {
    this.#onFault = onFault;
    this.#pages = new ShardPages(budget);
  }

  /** Returns the records that exist, by id. */
  fetch(caller: Caller, parts: IdsByShard, options: ReadOptions = {}): Promise<Map<string, FetchedRecord>> {
    return this.#gather(caller, options, async (follow) => {
      const pageMaxBytes = firstPageMaxBytes(parts.length);
      const found = new Map<string, FetchedRecord>();
      const read = async ({ shard, ids }: IdsByShard[number]): Promise<void> => {
        const page = await call(caller, 'shards.fetch', { shard, ids, pageMaxBytes, ...openingOf(options) });
        await this.#readAll(caller, follow(shard, page), (record) => {
          found.set(record.id, record);
          return ITEM_NS;
        });
      };
      await Promise.all(parts.map(read));
      return found;
    });
  }

  /** Returns the best matches of all shards, best first, for each query. */
  query(
    caller: Caller,
    shards: readonly ShardSpec[],
    queries: readonly QueryOptions[],
    options: ReadOptions = {},
  ): Promise<QueryResult[]> {
    return this.#gather(caller, options, async (follow) => {
      const answer = async (shard: ShardSpec): Promise<ShardAnswer[]> => {
        const pages = await askQueries(caller, shard, shards.length, queries, openingOf(options));
        return pages.map((page) => ({ list: follow(shard, page), fields: page.fields }));
      };
      return bestOf(await Promise.all(shards.map(answer)), queries);
    });
  }

  /** Like `query`, over the shards that respond within PARTIAL_WAIT_MS. The results count them. */
  queryReachable(
    caller: Caller,
    shards: readonly ShardSpec[],
    queries: readonly QueryOptions[],
    { eventual, account = '' }: ReadOptions = {},
  ): Promise<QueryResult[]> {
    const timeout = PARTIAL_WAIT_MS;
    // Shards that sent their first page but not a later one in time. The repeated read skips them.
    const lost = new Set<ShardSpec>();
    const read = async (follow: Follow): Promise<QueryResult[]> => {
      const answer = async (shard: ShardSpec): Promise<ShardAnswer[] | null> => {
        const asked = askQueries(caller, shard, shards.length, queries, { eventual }, { timeout });
        const pages = await this.#unlessUnreachable(asked, caller);
        const reach = (next: Promise<AnswerPage<PageItem>>) => this.#orLost(next, shard, lost, caller);
        return pages?.map((page) => ({ list: follow(shard, page, reach), fields: page.fields })) ?? null;
      };
      const asked = shards.filter((shard) => !lost.has(shard));
      const answers = (await Promise.all(asked.map(answer))).filter((lists) => lists !== null);
      const [total, ok] = [shards.length, answers.length];
      const results = await bestOf(answers, queries);
      return results.map(({ matches, absentFields }) => ({
        matches,
        shards: { total, ok, failed: total - ok },
        // Records of the missing shards may have the field.
        ...(ok === total && absentFields && { absentFields }),
      }));
    };
    return this.#pages.gather(caller, account, { timeout }, read);
  }

  /** Returns the first records of all shards, ordered by the UTF-8 bytes of their ids. */
  list(
    caller: Caller,
    shards: readonly ShardSpec[],
    listing: ListOptions & RecordScope,
    options: ReadOptions = {},
  ): Promise<{ records: ListedRecord[] } & WithAbsentFields> {
    return this.#gather(caller, options, async (follow) => {
      const asked = { op: 'list', ...listing, pageMaxBytes: firstPageMaxBytes(shards.length) } as const;
      const answer = async (shard: ShardSpec) => {
        const page = await readShard(caller, shard, asked, options);
        return { list: follow(shard, page), fields: page.fields };
      };
      const answers = await Promise.all(shards.map(answer));
      const lists = answers.map(({ list }) => list);
      const records = await mergeLists(lists, listing.limit, (a, b) => compareUtf8(a.id, b.id) < 0);
      return { records, ...mergeFieldReports(answers.map(({ fields }) => fields)) };
    });
  }

  /** Returns the values of a field among the matching records, most frequent first. */
  facets(
    caller: Caller,
    shards: readonly ShardSpec[],
    { field, limit, ...scope }: RecordScope & { field: string; limit: number },
    options: ReadOptions = {},
  ): Promise<FacetsResult> {
    return this.#gather(caller, options, async (follow) => {
      const pageMaxBytes = firstPageMaxBytes(shards.length);
      // Each of several shards must return all values: one that is frequent in one shard may be
      // rare in the others.
      const asked = { op: 'facets', ...scope, field, limit: shards.length === 1 ? limit : null, pageMaxBytes } as const;
      const counts = new ValueCounts();
      let missing = 0;
      const read = async (shard: ShardSpec): Promise<FieldReport | undefined> => {
        const answer = await readShard(caller, shard, asked, options);
        missing += answer.missing;
        await this.#readAll(caller, follow(shard, answer.page), ([value, count]) => counts.add(value, count));
        return answer.fields;
      };
      const reports = await Promise.all(shards.map(read));
      const values = await this.#topValues(caller, counts, limit);
      return { values: values.map(([value, count]) => ({ value, count })), missing, ...mergeFieldReports(reports) };
    });
  }

  /**
   * Returns the first namespaces of all shards, by name, with their record counts. May read a shard
   * several times, so its counts may belong to different states.
   */
  namespaces(
    caller: Caller,
    shards: readonly ShardSpec[],
    asked: NamespaceRange,
    options: ReadOptions = {},
  ): Promise<[name: string, count: number][]> {
    return this.#gather(caller, options, async (follow) => {
      const read = { op: 'namespaces', ...asked, pageMaxBytes: firstPageMaxBytes(shards.length) } as const;
      const atOnce = namesAtOnce(asked.limit, shards.length);
      const namesOf = (shard: ShardSpec) => async (after: string | null, limit: number) =>
        follow(shard, await readShard(caller, shard, { ...read, after, limit }, options));
      const lists = shards.map((shard) => shardNames(namesOf(shard), asked.after, atOnce));
      const counts: [name: string, count: number][] = [];
      const take = ([value, count]: ValueCount): boolean | Promise<boolean> => {
        const name = value as string;
        const last = counts.at(-1);
        if (last?.[0] === name) last[1] += count;
        else if (counts.length === asked.limit) return false;
        else counts.push([name, count]);
        caller.signal?.throwIfAborted();
        const pause = this.#turns.pauseAfter(ITEM_NS);
        return pause === null || pause.then(() => true);
      };
      await mergeInto(await Promise.all(lists), ([a], [b]) => compareUtf8(a as string, b as string) < 0, take);
      return counts;
    });
  }

  /** Calls `take` for each item; it returns its approximate cost in ns. */
  async #readAll<T extends PageItem>(caller: Caller, list: OrderedList<T>, take: (item: T) => number): Promise<void> {
    for (let { items } = list; items.length > 0; items = await list.more()) {
      for (const item of items) {
        const pause = this.#turns.pauseAfter(take(item));
        if (pause !== null) await pause;
      }
      caller.signal?.throwIfAborted();
    }
  }

  async #topValues(caller: Caller, { entries }: ValueCounts, limit: number): Promise<readonly ValueCount[]> {
    const top = new TopValues(limit);
    for (const entry of entries) {
      const pause = this.#turns.pauseAfter(top.offer(entry));
      if (pause === null) continue;
      await pause;
      caller.signal?.throwIfAborted();
    }
    return top.best;
  }

  #gather<T>(caller: Caller, options: ReadOptions, read: (follow: Follow) => Promise<T>): Promise<T> {
    return this.#pages.gather(caller, options.account ?? '', {}, read);
  }

  /** Returns the page. Adds an unreachable shard to `lost` and throws ShardLostError. */
  async #orLost(
    next: Promise<AnswerPage<PageItem>>,
    shard: ShardSpec,
    lost: Set<ShardSpec>,
    caller: Caller,
  ): Promise<AnswerPage<PageItem>> {
    const page = await this.#unlessUnreachable(next, caller);
    if (page !== null) return page;
    lost.add(shard);
    throw new ShardLostError();
  }

  /**
   * Returns null if no node responded for the shard in time. Rethrows SnapshotLostError and errors
   * that concern the request itself.
   */
  async #unlessUnreachable<T>(answer: Promise<T>, { signal }: Caller): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      signal?.throwIfAborted();
      const isFinal = isProvecError(error) && error.code !== 'UNAVAILABLE' && !isShardUnavailable(error);
      if (error instanceof SnapshotLostError || isFinal) throw error;
      if (!isProvecError(error) && !(error instanceof Error && error.name === 'RequestTimeoutError'))
        this.#onFault(error);
      return null;
    }
  }
}

/**
 * Returns true if `a` ranks before `b`: by shorter distance if there is one, else by higher score.
 * Ties are ordered by the UTF-8 bytes of the id.
 */
export function ranksBefore(a: ShardMatch, b: ShardMatch): boolean {
  // Several distances may round to the same score.
  if (a.distance !== undefined && b.distance !== undefined && a.distance !== b.distance) return a.distance < b.distance;
  return a.score === b.score ? compareUtf8(a.id, b.id) < 0 : a.score > b.score;
}

type OpenOptions = Omit<ReadOptions, 'account'>;

/** Returns the options that a shard gets. */
const openingOf = ({ eventual = false, openMaxMs }: ReadOptions): OpenOptions => ({ eventual, openMaxMs });

/** Returns the first page of a shard's matches for each query. */
async function askQueries(
  caller: Caller,
  shard: ShardSpec,
  shards: number,
  queries: readonly QueryOptions[],
  opening: OpenOptions,
  options: { timeout?: number } = {},
): Promise<AnswerPage<ShardMatch>[]> {
  const params = { shard, pageMaxBytes: firstPageMaxBytes(shards * queries.length), ...opening };
  const [query, ...others] = queries;
  if (query === undefined || others.length > 0) return call(caller, 'shards.queries', { ...params, queries }, options);
  return [await call(caller, 'shards.query', { ...params, query }, options)];
}

interface ShardAnswer {
  list: OrderedList<ShardMatch>;
  fields: FieldReport | undefined;
}

/** Merges the shards' matches, separately for each query. */
function bestOf(answers: readonly ShardAnswer[][], queries: readonly QueryOptions[]): Promise<QueryResult[]> {
  const best = queries.map(async ({ topK }, at) => {
    const own = answers.map((each) => itemAt(each, at));
    const lists = own.map(({ list }) => list);
    const matches = await mergeLists(lists, topK, ranksBefore);
    return { matches, ...mergeFieldReports(own.map(({ fields }) => fields)) };
  });
  return Promise.all(best);
}

/** Reads from a shard: the whole result, or its first page. */
export function readShard<O extends ShardReadOp>(
  caller: Caller,
  shard: ShardSpec,
  read: ShardRead<O>,
  options: ReadOptions,
): Promise<ShardReads[O]['result']> {
  const params = { shard, read: read as ShardRead, ...openingOf(options) };
  return call(caller, 'shards.read', params) as Promise<ShardReads[O]['result']>;
}
