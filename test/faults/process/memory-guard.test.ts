import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call } from '../../../contracts/actions/call.ts';
import { startService, type TestService } from '../../support/service.ts';

const LIMIT_MIB = 64;
const DIMENSIONS = 1_024;
const RECORDS_PER_WRITE = 1_000;
const WRITES_MAX = 20;

let service: TestService;

beforeAll(async () => {
  service = await startService({
    PROVEC_MEMORY_LIMIT_MB: String(LIMIT_MIB),
    PROVEC_LEDGER: 'off',
    PROVEC_LOG_LEVEL: 'silent',
  });
  for (const name of ['idle', 'busy']) await service.api('POST', '/collections', { name, dimensions: DIMENSIONS });
});
afterAll(() => service.stop());

function upsert(name: string, number: number, count = RECORDS_PER_WRITE) {
  const records = Array.from({ length: count }, (_, i) => ({
    id: `${number}/${i}`,
    values: Array.from({ length: DIMENSIONS }, (_, d) => ((number + i * 7 + d * d) % 9) + 1),
  }));
  return service.api('POST', `/collections/${name}/upsert`, { records });
}

const stats = () => call(service.provec.broker, 'shards.stats', {});

test('an idle collection closes before an upsert is refused; past the limit it gets 507', async () => {
  for (const number of [0, 1]) expect(await upsert('idle', number)).toMatchObject({ status: 200 });
  let accepted = 0;
  for (;;) {
    const answer = await upsert('busy', accepted);
    if (answer.status !== 200) {
      expect(answer).toMatchObject({ status: 507, body: { code: 'OUT_OF_CAPACITY', status: 507 } });
      expect(answer.body.error).toContain('reads and deletes still work');
      break;
    }
    expect(++accepted).toBeLessThan(WRITES_MAX);
  }
  expect(await stats()).toMatchObject({ open: 1, records: accepted * RECORDS_PER_WRITE });
  // At least half of the limit was used for one collection's vectors: no write was refused that
  // would have fitted.
  expect(accepted * RECORDS_PER_WRITE * DIMENSIONS * 4).toBeGreaterThan((LIMIT_MIB / 2) * 2 ** 20);
});

test('reads and deletes continue, even in the closed collection', async () => {
  const busy = await service.api('POST', '/collections/busy/query', { id: '0/5', topK: 1 });
  expect(busy).toMatchObject({ status: 200, body: { matches: [{ id: expect.any(String) }] } });
  expect(await service.api('POST', '/collections/busy/delete', { ids: ['0/0', '0/1'] })).toMatchObject({
    status: 200,
    body: { deletedCount: 2 },
  });
  expect(await service.api('POST', '/collections/idle/fetch', { ids: ['1/999'] })).toMatchObject({
    status: 200,
    body: { vectors: { '1/999': { id: '1/999' } } },
  });
  expect(await service.api('GET', '/collections')).toMatchObject({ body: { collections: [{ name: 'busy' }, {}] } });
});

test('deleting a collection frees memory', async () => {
  expect(await service.api('DELETE', '/collections/busy')).toMatchObject({ status: 200 });
  for (const number of [2, 3]) expect(await upsert('idle', number)).toMatchObject({ status: 200 });
  expect(await service.api('GET', '/collections/idle')).toMatchObject({
    body: { collection: { vector_count: 4 * RECORDS_PER_WRITE } },
  });
});
