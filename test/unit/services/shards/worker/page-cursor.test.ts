import { expect, test } from '@jest/globals';
import type { AnswerPage, ShardMatch } from '../../../../../lib/shard/match.ts';
import { memoryEngine } from '../../../../../services/shards/engine/memory-engine.ts';
import type { ShardQuery, ShardWrite } from '../../../../../services/shards/engine/port.ts';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { oneStep, runThrough } from '../../../../../services/shards/steps.ts';
import { PageCursor, PageCursors } from '../../../../../services/shards/worker/page-cursor.ts';
import type {
  WorkerOp,
  WorkerOps,
  WorkerReply,
  WorkerRequest,
} from '../../../../../services/shards/worker/protocol.ts';
import { ShardHost } from '../../../../../services/shards/worker/shard-host.ts';
import {
  fetchFrom,
  queryIn,
  queryWith,
  readIn,
  rootOf,
  settle,
  specWith,
  write,
} from '../../../../support/shard-engine.ts';

const DIMENSIONS = 4;
const ids = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `r${from + at}`);

/** Records whose values and metadata contain the generation that wrote them. */
function upsertOf(names: string[], generation: number): ShardWrite {
  const vectors = Float32Array.from(names.flatMap((name) => [1, Number(name.slice(1)), generation, 0]));
  const metadata = names.map((name) => `{"is":"${name} of ${generation}"}`);
  return { kind: 'upsert', batch: { ids: names, dimensions: DIMENSIONS, vectors, metadata } };
}
const remove = (names: string[]): ShardWrite => ({ kind: 'delete', ids: names });
const ALL = queryWith([1, 0, 0, 0], { topK: 10_000, includeValues: true, includeMetadata: true });

function cursorOver(shard: Shard, names: string[]): PageCursor {
  return new PageCursor(readIn(shard, (snapshot) => snapshot.fetch(names)));
}

function cursorOverAll(shard: Shard): PageCursor {
  return new PageCursor(
    readIn(shard, (snapshot) => oneStep(() => snapshot.scan())),
    'all',
  );
}

/** All remaining pages of a cursor. */
function readOut(reading: PageCursor): unknown[] {
  const items: unknown[] = [];
  while (!reading.isAtEnd) items.push(...runThrough(reading.page(10_000)));
  return items;
}

test('a read stays unchanged whatever is written, and what it kept is released when it ends', () => {
  const shard = new Shard(specWith({ dimensions: DIMENSIONS }));
  /** The same shard without cursors. */
  const twin = new Shard(specWith({ dimensions: DIMENSIONS }));
  const put = (...writes: ShardWrite[]) => {
    for (const each of [shard, twin]) {
      write(each, ...writes);
      settle(each);
    }
  };
  put(upsertOf(ids(3_000), 1));
  const before = queryIn(shard, ALL);
  const readings = [0, 1].map(() => new PageCursor(readIn(shard, (snapshot) => snapshot.query(ALL))));
  const records = cursorOver(shard, ids(500));
  const fetched = fetchFrom(shard, ids(500));
  // Records are overwritten, deleted and added to free slots, while the engine moves records in
  // between.
  put(upsertOf(ids(1_500), 2));
  put(remove(ids(2_900, 50)));
  put(upsertOf(ids(1_000, 5_000), 3));
  expect(readOut(readings[0]!)).toEqual(before);
  readings[0]!.end();
  readings[0]!.end();
  put(upsertOf(ids(700, 8_000), 4), remove(ids(1_000, 5_000)));
  expect(readOut(readings[1]!)).toEqual(before);
  expect(readOut(records)).toEqual(fetched);
  expect(shard.bytes).toBeGreaterThan(1.2 * twin.bytes);
  readings[1]!.end();
  records.end();
  settle(shard);
  expect(shard.bytes).toBeLessThan(1.1 * twin.bytes);
  expect(rootOf(shard)).toBe(rootOf(twin));
  expect(queryIn(shard, ALL)).toEqual(queryIn(twin, ALL));
});

test('records that are read stay readable while nearly all others are deleted and memory is compacted', () => {
  const shard = new Shard(specWith({ dimensions: DIMENSIONS }));
  const large = (names: string[], generation: number): ShardWrite => {
    const write = upsertOf(names, generation);
    if (write.kind === 'upsert') write.batch.metadata = names.map((name) => `{"is":"${name} ${'x'.repeat(2_000)}"}`);
    return write;
  };
  for (let from = 0; from < 3_000; from += 1_000) write(shard, large(ids(1_000, from), 1));
  settle(shard);
  const read = ids(3_000).filter((_, at) => at % 50 === 0);
  const before = fetchFrom(shard, read);
  const reading = cursorOver(shard, read);
  const [deleted, overwritten] = [read.filter((_, at) => at % 3 === 0), read.filter((_, at) => at % 3 === 1)];
  write(shard, remove([...deleted, ...ids(3_000).filter((_, at) => at % 50 !== 0)]), upsertOf(overwritten, 2));
  settle(shard);
  write(shard, large(ids(100, 9_000), 3));
  settle(shard);
  expect(readOut(reading)).toEqual(before);
  const whileRead = shard.bytes;
  reading.end();
  settle(shard);
  expect(shard.bytes).toBeLessThan(whileRead);
  expect(fetchFrom(shard, deleted)).toEqual([]);
  expect(fetchFrom(shard, overwritten).map(({ values }) => values[2])).toEqual(overwritten.map(() => 2));
});

/** A worker's host without a thread, on a test clock. */
function startHost() {
  let nowMs = 0;
  const replies: WorkerReply[] = [];
  const later: (() => void)[] = [];
  const host = new ShardHost(
    memoryEngine(),
    (message) => {
      if (message.id !== null) replies.push(message);
    },
    (run) => later.push(run),
    // On a clock that stands still, the system's timers would fire again forever.
    { monotonicMs: () => nowMs, timers: { after: () => () => undefined } },
  );
  const ask = <O extends WorkerOp>(op: O, params: WorkerOps[O]['params']): WorkerOps[O]['result'] => {
    host.receive({ id: 1, op, params } as WorkerRequest);
    // Staging takes several turns.
    while (replies.length === 0 && later.length > 0) later.shift()!();
    const reply = replies.pop();
    if (reply === undefined || !('result' in reply)) throw new Error(`No answer to ${op}.`);
    return reply.result as WorkerOps[O]['result'];
  };
  ask('create', { key: 'c.0', spec: specWith({ dimensions: DIMENSIONS }) });
  ask('stage', { key: 'c.0', writes: [upsertOf(ids(200), 1)] });
  ask('commit', { key: 'c.0' });
  return {
    ask,
    pass: (ms: number) => {
      nowMs += ms;
    },
    query: (query: ShardQuery = ALL) => ask('query', { key: 'c.0', query, pageMaxBytes: 1_000 }),
    next: (page: AnswerPage<unknown>) => ask('next', { key: 'c.0', rest: page.rest!, pageMaxBytes: 20_000 }),
  };
}

test('pages are returned in order, even while a group is staged, until nothing is left', () => {
  const { ask, query, next } = startHost();
  const whole = ask('query', { key: 'c.0', query: ALL, pageMaxBytes: Number.POSITIVE_INFINITY });
  expect(whole.rest).toBeNull();
  expect(whole.items).toHaveLength(200);
  let page: AnswerPage<unknown> | null = query();
  const items = [...page.items];
  ask('stage', { key: 'c.0', writes: [upsertOf(ids(200), 2)] });
  for (let pages = 0; page?.rest && pages < 100; pages++) {
    page = next(page);
    items.push(...page!.items);
    if (pages === 0) ask('commit', { key: 'c.0' });
  }
  expect(items).toEqual(whole.items);
  expect((query().items[0] as ShardMatch).metadata).toContain('of 2');
});

test('an abandoned read is forgotten, and a cancelled one at once', () => {
  const { ask, pass, query, next } = startHost();
  const [slow, quick, left] = [query(), query(), query()];
  pass(20_000);
  const further = next(quick)!;
  expect(further.items.length).toBeGreaterThan(0);
  ask('leave', { key: 'c.0', rest: left.rest! });
  expect(next(left)).toBeNull();
  pass(20_000);
  expect(next(slow)).toBeNull();
  expect(next(further)!.items.length).toBeGreaterThan(0);
  expect(ask('next', { key: 'other', rest: further.rest!, pageMaxBytes: 1 })).toBeNull();
});

test('of too many reads the oldest of the kind ends, and no other', () => {
  const shard = new Shard(specWith({ dimensions: DIMENSIONS }));
  write(shard, upsertOf(ids(2), 1));
  const readings = new PageCursors();
  const keep = (reading: PageCursor): string => readings.keep(reading, runThrough(reading.page(1)), 0).rest!;
  const isOpen = (name: string): boolean => readings.next(name, 0, 0) !== null;
  const all = [keep(cursorOverAll(shard)), keep(cursorOverAll(shard))];
  const some = Array.from({ length: 4_097 }, () => keep(cursorOver(shard, ids(2))));
  expect([some[0]!, some[1]!, ...all].map(isOpen)).toEqual([false, true, true, true]);
  const more = Array.from({ length: 63 }, () => keep(cursorOverAll(shard)));
  expect([...all, more[0]!, some[2]!].map(isOpen)).toEqual([false, true, true, true]);
  for (const name of [...all, ...some, ...more]) readings.end(name);
  expect(readings.size).toBe(0);
});

test('a page of no bytes keeps a read, and takes nothing of it', () => {
  const { ask, pass, query, next } = startHost();
  const [kept, other] = [query(), query()];
  const second = kept.items.length;
  for (let times = 0; times < 10; times++) {
    pass(20_000);
    expect(ask('next', { key: 'c.0', rest: kept.rest!, pageMaxBytes: 0 })).toEqual({ items: [], rest: kept.rest });
  }
  expect(next(other)).toBeNull();
  const whole = ask('query', { key: 'c.0', query: ALL, pageMaxBytes: Number.POSITIVE_INFINITY });
  const { items } = next(kept)!;
  expect(items).toEqual(whole.items.slice(second, second + items.length));
});
