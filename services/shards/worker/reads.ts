/**
 * The reads of a shard that may take long, in steps. A read restarts if the shard changes while it
 * runs.
 */
import { TopValues, type ValueCount, type ValueCounts } from '../../../lib/filter/value-counts.ts';
import type { AnswerPage, FetchedRecord, ListedRecord, PageItem, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardReadOp } from '../../../lib/shard/read.ts';
import type { Shard } from '../engine/shard.ts';
import { STEP_NS, StepMeter, type Steps } from '../steps.ts';
import { PageCursor, type PageCursors } from './page-cursor.ts';
import type { WorkerOp, WorkerOps } from './protocol.ts';
import type { ReadWork } from './read-run.ts';

export type LongRead = 'query' | ShardReadOp;

interface ReadShard {
  readonly shard: Shard;
  /** Keeps the cursors of paged answers. */
  readonly readings: PageCursors;
}

type Reads = {
  [op in LongRead]: (
    from: ReadShard,
    params: WorkerOps[op]['params'],
    monotonicMs: () => number,
  ) => Steps<WorkerOps[op]['result']>;
};

const READS: Reads = {
  *query({ shard, readings }, { query, pageMaxBytes }, monotonicMs) {
    const ranking = yield* shard.rankSteps(query);
    const reading = PageCursor.ofMatches(shard, ranking, query);
    const page = (yield* firstPage(readings, reading, pageMaxBytes, monotonicMs)) as AnswerPage<ShardMatch>;
    return { ...page, fields: ranking.fields };
  },
  *facets({ shard, readings }, { field, limit, pageMaxBytes, ...scope }, monotonicMs) {
    const { counts, missing, fields } = yield* shard.countValuesSteps(field, scope);
    const values = limit === null ? counts.entries : yield* topValues(counts, limit);
    const page = yield* firstPage(readings, PageCursor.ofValues(values), pageMaxBytes, monotonicMs);
    return { missing, page: page as AnswerPage<ValueCount>, fields };
  },
  *list({ shard, readings }, { pageMaxBytes, ...listing }, monotonicMs) {
    const { slots, fields } = yield* shard.listSteps(listing);
    const reading = PageCursor.ofListed(shard, slots, listing);
    return {
      ...((yield* firstPage(readings, reading, pageMaxBytes, monotonicMs)) as AnswerPage<ListedRecord>),
      fields,
    };
  },
  *count({ shard }, scope) {
    const { count, fields } = yield* shard.countSteps(scope);
    return fields === undefined ? count : { count, fields };
  },
  *preview({ shard }, change) {
    return yield* shard.previewSteps(change);
  },
  *export({ shard, readings }, { pageMaxBytes }, monotonicMs) {
    // Head and records come from one state: the steps below yield only where the shard may change.
    const { head } = shard;
    const reading = PageCursor.ofAll(shard);
    return {
      head,
      page: (yield* firstPage(readings, reading, pageMaxBytes, monotonicMs)) as AnswerPage<FetchedRecord>,
    };
  },
  *namespaces({ shard, readings }, { pageMaxBytes, ...asked }, monotonicMs) {
    const reading = PageCursor.ofValues(yield* shard.namespacesSteps(asked));
    return (yield* firstPage(readings, reading, pageMaxBytes, monotonicMs)) as AnswerPage<ValueCount>;
  },
};

export const isLongRead = (op: WorkerOp): op is LongRead => Object.hasOwn(READS, op);

/** Returns the work of a requested read. */
export function readWork<O extends LongRead>(
  op: O,
  from: ReadShard,
  params: WorkerOps[O]['params'],
  monotonicMs: () => number,
): ReadWork {
  return {
    steps: () => READS[op](from, params, monotonicMs),
    tooMuch:
      op === 'preview' || hasFilter('query' in params ? params.query : params)
        ? 'the filter'
        : op === 'list'
          ? 'the listing'
          : 'the search',
  };
}

const hasFilter = (asked: object): boolean => 'filter' in asked && asked.filter !== null;

function* topValues({ entries }: ValueCounts, limit: number): Steps<readonly ValueCount[]> {
  const meter = new StepMeter(STEP_NS);
  const top = new TopValues(limit);
  for (const entry of entries) {
    meter.spentNs += top.offer(entry);
    if (meter.due()) yield 'sending';
  }
  return top.best;
}

/** Returns the first page. The cursor for the rest is kept in `readings`. */
function* firstPage(
  readings: PageCursors,
  reading: PageCursor,
  pageMaxBytes: number,
  monotonicMs: () => number,
): Steps<AnswerPage<PageItem>> {
  let page: AnswerPage<PageItem> | null = null;
  try {
    page = readings.keep(reading, yield* reading.page(pageMaxBytes), monotonicMs());
    return page;
  } finally {
    if (page === null) reading.end();
  }
}
