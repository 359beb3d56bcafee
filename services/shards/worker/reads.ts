/**
 * The reads of a shard, in steps. Each takes a snapshot at its first step, so that a read may run
 * whatever is staged. Proofs are no part of them: see `prove` in shard-host.ts.
 */
import { TopValues, type ValueCount, type ValueCounts } from '../../../lib/filter/value-counts.ts';
import type { AnswerPage, PageItem } from '../../../lib/shard/match.ts';
import type { ShardReadOp } from '../../../lib/shard/read.ts';
import type { ShardSnapshot, ShardWriter } from '../engine/port.ts';
import { STEP_NS, StepMeter, type Steps } from '../steps.ts';
import { PageCursor, type PageCursors } from './page-cursor.ts';
import type { WorkerOps, WorkerRequest } from './protocol.ts';

export type ReadOp = 'query' | 'fetch' | 'previewUpdates' | 'metadataBytes' | 'countNew' | ShardReadOp;

/** The work of a read, and what to blame in the error if it takes too long. */
export interface ReadWork {
  steps(): Steps<unknown>;
  tooMuch: string;
}

interface ReadShard {
  readonly shard: ShardWriter;
  /** Keeps the cursors of paged answers. */
  readonly readings: PageCursors;
}

type Reads = {
  [op in ReadOp]: (
    from: ReadShard,
    params: WorkerOps[op]['params'],
    monotonicMs: () => number,
  ) => Steps<WorkerOps[op]['result']>;
};

/** What an error blames if the read takes too long; default: the search. */
const BLAMED: { readonly [op in ReadOp]?: string } = { list: 'the listing', previewUpdates: 'the update' };

const READS: Reads = {
  *query({ shard, readings }, { query, pageMaxBytes }, monotonicMs) {
    const result = yield* onSnapshot(shard, (snapshot) => snapshot.query(query));
    return {
      ...(yield* firstPage(readings, new PageCursor(result), pageMaxBytes, monotonicMs)),
      fields: result.fields,
    };
  },
  *fetch({ shard, readings }, { ids, pageMaxBytes }, monotonicMs) {
    const result = yield* onSnapshot(shard, (snapshot) => snapshot.fetch(ids));
    return yield* firstPage(readings, new PageCursor(result), pageMaxBytes, monotonicMs);
  },
  previewUpdates({ shard }, { updates, terms }) {
    return onSnapshot(shard, (snapshot) => snapshot.previewUpdates(updates, terms));
  },
  metadataBytes({ shard }, { ids }) {
    return onSnapshot(shard, (snapshot) => snapshot.metadataBytes(ids));
  },
  countNew({ shard }, { ids }) {
    return onSnapshot(shard, (snapshot) => snapshot.countNew(ids));
  },
  *facets({ shard, readings }, { field, limit, pageMaxBytes, ...scope }, monotonicMs) {
    const { counts, missing, fields } = yield* onSnapshot(shard, (snapshot) => snapshot.facets(field, scope));
    const values = limit === null ? counts.entries : yield* topValues(counts, limit);
    const page = yield* firstPage(readings, PageCursor.ofValues(values), pageMaxBytes, monotonicMs);
    return { missing, page, fields };
  },
  *list({ shard, readings }, { pageMaxBytes, ...listing }, monotonicMs) {
    const result = yield* onSnapshot(shard, (snapshot) => snapshot.list(listing));
    return {
      ...(yield* firstPage(readings, new PageCursor(result), pageMaxBytes, monotonicMs)),
      fields: result.fields,
    };
  },
  *count({ shard }, scope) {
    const { count, fields } = yield* onSnapshot(shard, (snapshot) => snapshot.count(scope));
    return { count, ...(fields && { fields }) };
  },
  preview({ shard }, change) {
    return onSnapshot(shard, (snapshot) => snapshot.previewMerge(change));
  },
  *export({ shard, readings }, { pageMaxBytes }, monotonicMs) {
    const { head, result } = withSnapshot(shard, (snapshot) => ({ head: snapshot.head, result: snapshot.scan() }));
    return { head, page: yield* firstPage(readings, new PageCursor(result, 'all'), pageMaxBytes, monotonicMs) };
  },
  *namespaces({ shard, readings }, { pageMaxBytes, ...range }, monotonicMs) {
    const names = yield* onSnapshot(shard, (snapshot) => snapshot.namespaces(range));
    return yield* firstPage(readings, PageCursor.ofValues(names), pageMaxBytes, monotonicMs);
  },
};

export const isRead = (request: WorkerRequest): request is WorkerRequest<ReadOp> => Object.hasOwn(READS, request.op);

/** Returns the work of a requested read. */
export function readWork<O extends ReadOp>(
  { op, params }: Pick<WorkerRequest<O>, 'op' | 'params'>,
  from: ReadShard,
  monotonicMs: () => number,
): ReadWork {
  return {
    steps: () => READS[op](from, params, monotonicMs),
    tooMuch:
      op === 'preview' || hasFilter('query' in params ? params.query : params)
        ? 'the filter'
        : (BLAMED[op] ?? 'the search'),
  };
}

/** Reads the newest state at once. */
export function withSnapshot<T>(shard: ShardWriter, read: (snapshot: ShardSnapshot) => T): T {
  const snapshot = shard.snapshot();
  try {
    return read(snapshot);
  } finally {
    snapshot.release();
  }
}

/** Reads the state that is the newest at the first step. */
function* onSnapshot<T>(shard: ShardWriter, read: (snapshot: ShardSnapshot) => Steps<T>): Steps<T> {
  const snapshot = shard.snapshot();
  try {
    return yield* read(snapshot);
  } finally {
    snapshot.release();
  }
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
function* firstPage<T extends PageItem>(
  readings: PageCursors,
  reading: PageCursor<T>,
  pageMaxBytes: number,
  monotonicMs: () => number,
): Steps<AnswerPage<T>> {
  let page: AnswerPage<T> | null = null;
  try {
    page = readings.keep(reading, yield* reading.page(pageMaxBytes), monotonicMs());
    return page;
  } finally {
    if (page === null) reading.end();
  }
}
