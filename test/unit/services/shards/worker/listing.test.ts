import { beforeEach, expect, test } from '@jest/globals';
import { parseFilter } from '../../../../../lib/filter/parse.ts';
import { LIMITS } from '../../../../../lib/limits.ts';
import type { ShardKey } from '../../../../../lib/shard/key.ts';
import type { AnswerPage, ListedRecord } from '../../../../../lib/shard/match.ts';
import type { WorkerOps } from '../../../../../services/shards/worker/protocol.ts';
import type { HostOptions } from '../../../../../services/shards/worker/shard-host.ts';
import { isThorough } from '../../../../support/effort.ts';
import { type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';
import { HostHarness } from './shard-host-harness.ts';

const RECORDS = 300;
const LISTING = {
  after: null,
  prefix: null,
  filter: null,
  limit: 1_000,
  includeValues: false,
  includeMetadata: false,
  pageMaxBytes: Number.MAX_VALUE,
};

const idOf = (n: number) => `r${String(n).padStart(4, '0')}`;
const IDS = Array.from({ length: RECORDS }, (_, n) => idOf(n));

let host: HostHarness;
let key: ShardKey;
beforeEach(() => open());

function open(options: HostOptions = {}): void {
  host = new HostHarness({ waitMaxMs: Number.POSITIVE_INFINITY, ...options });
  key = host.open('listed');
  put(IDS, 1);
  host.settle();
}

/** Writes records whose values and metadata contain their generation. */
function put(ids: string[], generation: number): number {
  const records = ids.map((id): [string, TestRecord] => [id, { values: [1, generation], metadata: { generation } }]);
  return host.write(key, upsertOf(records, 2));
}

const send = (changes: Partial<WorkerOps['list']['params']> = {}) => host.send('list', { key, ...LISTING, ...changes });

function answerOf(id: number): AnswerPage<ListedRecord> {
  host.turnsUntil(id);
  return host.result(id);
}

const idsOf = ({ items }: AnswerPage<ListedRecord>) => items.map(({ id }) => id);

test('a record has the requested parts', () => {
  const [id] = IDS;
  const first = (changes: object) => answerOf(send({ limit: 1, ...changes })).items;
  const values = Float32Array.of(1, 1);
  const metadata = '{"generation":1}';
  expect(first({})).toEqual([{ id }]);
  expect(first({ includeValues: true })).toEqual([{ id, values }]);
  // A view would transfer all neighbouring vectors to the main thread as well.
  expect(first({ includeValues: true })[0]!.values!.buffer.byteLength).toBe(values.byteLength);
  expect(first({ includeMetadata: true })).toEqual([{ id, metadata }]);
  expect(first({ includeValues: true, includeMetadata: true })).toEqual([{ id, values, metadata }]);
});

test('all pages are of one state, whatever is written between them', () => {
  const includes = { includeValues: true, includeMetadata: true };
  let page = answerOf(send({ ...includes, pageMaxBytes: 4_000 }));
  const listed = [...page.items];
  put(IDS.slice(100, 200), 2);
  host.write(key, { kind: 'delete', ids: IDS.slice(200) });
  host.settle();
  while (page.rest !== null) {
    page = host.result<AnswerPage<ListedRecord>>(host.send('next', { key, rest: page.rest, pageMaxBytes: 4_000 }));
    listed.push(...page.items);
  }
  const expected = IDS.map((id) => ({ id, values: Float32Array.of(1, 1), metadata: '{"generation":1}' }));
  expect(listed).toEqual(expected);
  expect(idsOf(answerOf(send()))).toEqual(IDS.slice(0, 200));
});

test('a listing that a write overtakes is of the state before it or after it', () => {
  const filter = parseFilter({ generation: { $lte: 2 } }, LIMITS);
  const written = upsertOf([[idOf(10), { values: [1, 2], metadata: { generation: 2 } }]], 2);
  const before = [10, 11, 12].map((n) => ({ id: idOf(n), metadata: '{"generation":1}' }));
  const after = [10, 12, 13].map((n) => ({ id: idOf(n), metadata: `{"generation":${n === 10 ? 2 : 1}}` }));
  const seen = { before: 0, after: 0 };
  const step = isThorough ? 1 : 7;
  for (let turns = 0; ; turns += step) {
    open({ sliceMs: 0, firstSliceMinMs: 0 });
    const listing = send({ filter, after: idOf(9), limit: 3, includeMetadata: true });
    for (let turn = 0; turn < turns && !host.isAnswered(listing); turn++) host.turn();
    if (host.isAnswered(listing)) break;
    const commit = host.write(key, written, { kind: 'delete', ids: [idOf(11)] });
    const { items } = answerOf(listing);
    host.settle();
    const isAfter = host.answered.indexOf(commit) < host.answered.indexOf(listing);
    expect(items).toEqual(isAfter ? after : before);
    seen[isAfter ? 'after' : 'before']++;
  }
  // Far more turns than a read takes once the order and the column are built.
  expect([seen.before > 0, seen.after > RECORDS / step]).toEqual([true, true]);
});

test('reports that the shard has grown once the order of its ids is built', () => {
  host.notices.length = 0;
  answerOf(send());
  host.settle();
  const grown = host.notices.length;
  answerOf(send());
  host.settle();
  expect([grown, host.notices.length]).toEqual([1, 1]);
});
