import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Caller } from '../../../../../contracts/actions/call.ts';
import { answerBounds, answerBudget } from '../../../../../lib/admission/answer-size.ts';
import type { MemoryBudget } from '../../../../../lib/admission/memory-budget.ts';
import { ShardReader } from '../../../../../services/collections/reads/shard-reader.ts';
import { splitBatch, splitIds } from '../../../../../services/collections/shard-routing.ts';
import { invariant } from '../../../../support/invariant.ts';
import { queryWith } from '../../../../support/shard-engine.ts';
import { type ShardFixture, shardFixture, specOf } from '../../../../support/shard-fixture.ts';

const MIB = 1024 * 1024;
const SHARDS = 2;
const RECORDS = 200;
const IDS = Array.from({ length: RECORDS }, (_, at) => `r${at}`);
/** All metadata together is 8 MB, in several pages per shard; vectors add almost nothing. */
const METADATA = JSON.stringify({ text: 'x'.repeat(40_000) });
const UNAVAILABLE = { code: 'UNAVAILABLE', retryAfterSeconds: 1, message: expect.stringMatching(/large answers/) };

let fixture: ShardFixture;
const specs = Array.from({ length: SHARDS }, (_, index) =>
  specOf(1, { index, of: SHARDS, dimensions: 1, metric: 'dot' }),
);
const asked: string[] = [];
let pagesHeld: (() => Promise<void>) | null;
const caller = {
  async call(action: string, params: Record<string, never>) {
    asked.push(action);
    const { shard, ids, query, read, rest, pageMaxBytes } = params;
    if (action === 'shards.leave') return fixture.node.leave({ shard, rest });
    if (action === 'shards.query') return fixture.node.query({ shard, query, pageMaxBytes });
    if (action === 'shards.read') return fixture.node.read({ shard, read });
    if (action === 'shards.fetch') return fixture.node.fetch({ shard, ids, pageMaxBytes });
    await pagesHeld?.();
    return fixture.node.next({ shard, rest, pageMaxBytes });
  },
} as unknown as Caller;

let heldBytes = 0;
let mostBytes = 0;
let budget: MemoryBudget;
let reader: ShardReader;

beforeAll(async () => {
  fixture = await shardFixture();
  const vectors = Float32Array.from(IDS, (_, at) => at);
  const batch = { ids: IDS, dimensions: 1, vectors, metadata: IDS.map(() => METADATA) };
  await Promise.all(
    [...splitBatch(batch, SHARDS)].map(([index, part]) => fixture.node.upsert({ shard: specs[index], batch: part })),
  );
});
afterAll(() => fixture.end());
beforeEach(() => {
  asked.length = 0;
  pagesHeld = null;
  mostBytes = 0;
  const bounds = { maxBytes: 10 * MIB, smallReserveBytes: 0, smallMaxBytes: 0 };
  const held = (bytes: number) => {
    heldBytes = bytes;
    mostBytes = Math.max(mostBytes, bytes);
  };
  budget = answerBudget({ held, refused: () => undefined }, bounds);
  reader = new ShardReader(undefined, budget);
});

const everything = queryWith(Float32Array.of(1), { topK: RECORDS, includeMetadata: true });
const query = async (account = 'a') => (await reader.query(caller, specs, [everything], { account }))[0]!.matches;
const queryReachable = (account: string) => reader.queryReachable(caller, specs, [everything], { account });
const fetch = (account = 'a') =>
  reader.fetch(
    caller,
    [...splitIds(IDS, SHARDS)].map(([index, ids]) => ({ shard: specs[index], ids })),
    { account },
  );
const listing = { after: null, prefix: null, filter: null, limit: RECORDS };
const list = (account = 'a') =>
  reader.list(caller, specs, { ...listing, includeValues: false, includeMetadata: true }, { account });

describe('memory of answers while they are gathered', () => {
  test('includes metadata, and is released', async () => {
    expect(await query()).toHaveLength(RECORDS);
    expect(mostBytes).toBeGreaterThan(RECORDS * METADATA.length);
    expect((await fetch()).size).toBe(RECORDS);
    expect((await list()).records).toHaveLength(RECORDS);
    await invariant('memory is given back', () => expect(heldBytes).toBe(0));
  });

  test.each([
    ['a query', () => query('b')],
    ['a query that may be partial', () => queryReachable('b')],
    ['a fetch', () => fetch('b')],
    ['a list', () => list('b')],
  ])(
    'is bounded: %s that goes too far is refused, its remainder is abandoned, and the others continue',
    async (_, read) => {
      const waiting: (() => void)[] = [];
      const first = Promise.withResolvers<void>();
      pagesHeld = () => {
        first.resolve();
        return new Promise((resolve) => waiting.push(resolve));
      };
      const others = budget.take('c', 4 * MIB);
      const refused = read();
      await first.promise;
      pagesHeld = null;
      for (const go of waiting) go();
      await expect(refused).rejects.toMatchObject(UNAVAILABLE);
      expect(asked).toContain('shards.leave');
      await invariant('answers keep within their memory', () =>
        expect([heldBytes, mostBytes <= 10 * MIB]).toEqual([4 * MIB, true]),
      );
      others.release();
      expect(await query('b')).toHaveLength(RECORDS);
    },
  );
});

test('an answer over the maximum for one is refused, and abandoned by its shards', async () => {
  const one = { maxBytes: MIB, message: 'Ask for less.' };
  const bounds = { maxBytes: 10 * MIB, smallReserveBytes: 0, smallMaxBytes: 0, one };
  reader = new ShardReader(undefined, answerBudget(undefined, bounds));
  await expect(query()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', message: 'Ask for less.' });
  expect(asked).toContain('shards.leave');
});

test('the bound is a part of the heap, and never more than the limit', () => {
  const small = answerBounds(400 * MIB);
  const one = { maxBytes: 31.25 * MIB, message: expect.stringContaining('more than 31 MiB') };
  expect(small).toEqual({ maxBytes: 50 * MIB, smallReserveBytes: 12.5 * MIB, smallMaxBytes: MIB, one });
  expect(answerBounds(64 * 1024 * MIB).maxBytes).toBe(512 * MIB);
});
