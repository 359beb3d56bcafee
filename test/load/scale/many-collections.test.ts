import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import { isThorough } from '../../support/effort.ts';
import { startService, type TestService } from '../../support/service.ts';

const COLLECTIONS = Number(process.env.PROVEC_TEST_COLLECTIONS ?? (isThorough ? 10_000 : 400));
const RECORDS = 20;
const DIMENSIONS = 384;
const IN_FLIGHT = 32;
const LIMIT_MIB = 64;
/** Writes in flight are admitted by an estimate of the memory that they will need. */
const HELD_MAX_BYTES = 1.1 * LIMIT_MIB * 2 ** 20;
/** Memory limit for 10,000 open collections of 100 small records each. */
const TARGET = { collections: 10_000, records: 100, dimensions: 32, bytes: 1.5 * 1024 ** 3 };

/**
 * Far longer than ten thousand collections need on a slow machine; only a hanging test reaches it.
 */
jest.setTimeout(600_000);

let service: TestService;

beforeAll(async () => {
  service = await startService({
    PROVEC_LEDGER: 'off',
    PROVEC_MEMORY_LIMIT_MB: String(LIMIT_MIB),
    PROVEC_RATE_LIMIT_PER_SECOND: '0',
  });
});
afterAll(() => service.stop());

const stats = () => call(service.provec.broker, 'shards.stats', {});
const valuesOf = (collection: number, record: number, dimensions = DIMENSIONS) =>
  Array.from({ length: dimensions }, (_, d) => ((collection + record * 3 + d * (record + 1)) % 101) + 1);

async function forEachCollection(work: (collection: number) => Promise<void>, step = 1): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let collection = next; collection < COLLECTIONS; collection = next) {
      next += step;
      await work(collection);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
}

async function timed(what: string, work: () => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  await work();
  const rss = process.memoryUsage().rss / 2 ** 20;
  console.log(`${what}: ${((performance.now() - startMs) / 1000).toFixed(2)} s, process ${rss.toFixed(0)} MiB`);
}

async function expectAnswers(collection: number): Promise<void> {
  const ids = ['0', String(RECORDS - 1)];
  const fetched = await service.api('POST', `/collections/c${collection}/fetch`, { ids });
  expect(fetched).toMatchObject({
    status: 200,
    body: { vectors: Object.fromEntries(ids.map((id) => [id, { id, values: valuesOf(collection, Number(id)) }])) },
  });
  const { status, body } = await service.api<{ matches: { id: string }[] }>(
    'POST',
    `/collections/c${collection}/query`,
    { vector: valuesOf(collection, 3), topK: RECORDS },
  );
  expect(status).toBe(200);
  expect(body.matches.length).toBe(RECORDS);
  expect(body.matches[0].id).toBe('3');
}

test('an open collection takes so little that 10,000 fit into 1.5 GiB', async () => {
  const { collections, dimensions, bytes } = TARGET;
  await service.api('POST', '/collections', { name: 'sample', dimensions });
  const records = Array.from({ length: TARGET.records }, (_, i) => ({
    id: `sample-${i}`,
    values: valuesOf(0, i, dimensions),
    metadata: { text: `record ${i} of a sample`, rank: i },
  }));
  expect((await service.api('POST', '/collections/sample/upsert', { records })).status).toBe(200);
  const held = await stats();
  expect(held).toMatchObject({ open: 1, records: TARGET.records });
  console.log(`${(held.bytes / 1024).toFixed(1)} KiB for ${TARGET.records} records of ${dimensions} dimensions`);
  expect(held.bytes * collections).toBeLessThan(bytes);
  expect((await service.api('DELETE', '/collections/sample')).status).toBe(200);
});

test('creates and fills small collections', async () => {
  await timed(`${COLLECTIONS} collections of ${RECORDS} records`, () =>
    forEachCollection(async (collection) => {
      const name = `c${collection}`;
      expect((await service.api('POST', '/collections', { name, dimensions: DIMENSIONS })).status).toBe(201);
      const records = Array.from({ length: RECORDS }, (_, i) => ({ id: String(i), values: valuesOf(collection, i) }));
      expect((await service.api('POST', `/collections/${name}/upsert`, { records })).status).toBe(200);
    }),
  );
  const { open, bytes, records } = await stats();
  console.log(`${open} open, ${(bytes / open / 1024).toFixed(1)} KiB each`);
  expect(records).toBe(open * RECORDS);
  expect(bytes).toBeLessThanOrEqual(HELD_MAX_BYTES);
});

test('idle ones have closed at the memory limit, and reopen on request', async () => {
  const { open } = await stats();
  if (COLLECTIONS >= 2_000) expect(open).toBeLessThan(COLLECTIONS);
  await timed('every 20th asked', () => forEachCollection(expectAnswers, 20));
  expect((await stats()).bytes).toBeLessThanOrEqual(HELD_MAX_BYTES);
});

test('lists all of them, with their counts', async () => {
  await timed('list', async () => {
    const counts: number[] = [];
    for (let query = ''; ; ) {
      const { status, body } = await service.api<{ collections: { vector_count: number }[]; nextCursor?: string }>(
        'GET',
        `/collections${query}`,
      );
      expect(status).toBe(200);
      counts.push(...body.collections.map(({ vector_count }) => vector_count));
      if (body.nextCursor === undefined) break;
      query = `?cursor=${encodeURIComponent(body.nextCursor)}`;
    }
    expect(counts.length).toBe(COLLECTIONS);
    expect(counts.every((count) => count === RECORDS)).toBe(true);
  });
});

test('they exist after a restart', async () => {
  await timed('restart', () => service.restart());
  await timed('every 20th asked', () => forEachCollection(expectAnswers, 20));
});
