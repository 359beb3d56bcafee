/** Seen in earlier systems: a filter is accepted and has no effect. */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Found = { matches: { id: string; metadata: { color: string; size: number } }[] };

let service: SharedService;
const query = (more: object) =>
  service.api<Found>('POST', '/collections/demo/query', { vector: [1, 0], topK: 100, ...more });

beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2, shards: 4 });
  const records = Array.from({ length: 60 }, (_, at) => ({
    id: `r${at}`,
    // The nearest records are those that the filters exclude.
    values: [at % 3 === 0 ? 1 : -1, 0.01 * at],
    metadata: { color: ['red', 'green', 'blue'][at % 3], size: at },
  }));
  await service.api('POST', '/collections/demo/upsert', { records });
});

test.each([
  ['equality', { color: 'green' }, 20],
  ['a range', { size: { $gte: 10, $lt: 14 } }, 4],
  ['several fields', { color: { $in: ['green', 'blue'] }, size: { $lt: 6 } }, 4],
  ['a negation', { $not: { color: 'red' } }, 40],
  ['what nothing matches', { color: 'purple' }, 0],
  ['an unknown field', { colour: 'green' }, 0],
])('%s takes effect', async (_, filter, count) => {
  const { status, body } = await query({ filter });
  expect(status).toBe(200);
  expect(body.matches).toHaveLength(count);
  const all = (await query({})).body.matches;
  expect(all).toHaveLength(60);
  expect(all.map(({ id }) => id)).toEqual(expect.arrayContaining(body.matches.map(({ id }) => id)));
});

test('matches satisfy the filter even if nearer records do not', async () => {
  const { body } = await query({ topK: 5, filter: { color: 'blue', size: { $gt: 30 } } });
  expect(body.matches).toHaveLength(5);
  for (const { metadata } of body.matches) {
    expect(metadata.color).toBe('blue');
    expect(metadata.size).toBeGreaterThan(30);
  }
});

test.each(['filters', 'Filter', 'where', 'filter '])('refuses a filter under the name %j', async (name) => {
  const { status, body } = await service.api<{ code: string; error: string }>('POST', '/collections/demo/query', {
    vector: [1, 0],
    [name]: { color: 'green' },
  });
  expect({ status, code: body.code }).toEqual({ status: 400, code: 'INVALID_ARGUMENT' });
  expect(body.error).toContain('filter');
});

test.each([{ color: { $regex: 'g.*' } }, { color: { eq: 'green' } }, { $where: 'true' }, ['green'], 'green', null])(
  'refuses what it does not understand: %j',
  async (filter) => {
    expect(await query({ filter })).toMatchObject({ status: 400, body: { code: 'INVALID_FILTER' } });
  },
);
