/**
 * The reads of a shard that may take long: what each does, in steps. A read begins anew where the
 * shard changed under it.
 */
import type { FilterNode } from '../../../lib/filter/ast.ts';
import type { Page, ShardMatch } from '../../../lib/shard/match.ts';
import type { ShardReadOp } from '../../../lib/shard/read.ts';
import type { Shard } from '../engine/shard.ts';
import type { Steps } from '../engine/steps.ts';
import type { WorkerOp, WorkerOps } from './protocol.ts';
import type { ReadWork } from './read-run.ts';
import { type Item, Reading, type Readings } from './reading.ts';

export type LongRead = 'query' | ShardReadOp;

/** What is read. */
interface ReadShard {
  readonly shard: Shard;
  /** Where answers that come in pages are kept. */
  readonly readings: Readings;
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
    const reading = Reading.ofMatches(shard, yield* shard.rankSteps(query), query);
    return (yield* firstPage(readings, reading, pageMaxBytes, monotonicMs)) as Page<ShardMatch>;
  },
  *count({ shard }, { filter }) {
    return yield* shard.countSteps(filter);
  },
};

export const isLongRead = (op: WorkerOp): op is LongRead => Object.hasOwn(READS, op);

/** The work of a read that was asked for. */
export function readWork<O extends LongRead>(
  op: O,
  from: ReadShard,
  params: WorkerOps[O]['params'],
  monotonicMs: () => number,
): ReadWork {
  return {
    steps: () => READS[op](from, params, monotonicMs),
    tooMuch: filterOf(params) === null ? 'the search' : 'the filter',
  };
}

function filterOf(params: { query?: { filter: FilterNode | null }; filter?: FilterNode | null }): FilterNode | null {
  return params.query?.filter ?? params.filter ?? null;
}

/** The rest is kept among `readings`. */
function* firstPage(
  readings: Readings,
  reading: Reading,
  pageMaxBytes: number,
  monotonicMs: () => number,
): Steps<Page<Item>> {
  let page: Page<Item> | null = null;
  try {
    page = readings.keep(reading, yield* reading.page(pageMaxBytes), monotonicMs());
    return page;
  } finally {
    if (page === null) reading.end();
  }
}
