/** Seen in earlier systems: a vector of the wrong length causes a 500, or is stored. */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
const collection = async () => (await service.api<{ collection: object }>('GET', '/collections/demo')).body.collection;

beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 3, shards: 2 });
  await service.api('POST', '/collections/demo/upsert', { records: [{ id: 'a', values: [1, 2, 3], metadata: {} }] });
});

const good = { id: 'b', values: [1, 2, 3], metadata: {} };
const upsertOf = (values: unknown) => ({ records: [good, { id: 'c', values, metadata: {} }] });

test.each([
  ['upsert', upsertOf([1, 2]), 'records[1].values', 'an array of 2'],
  ['upsert', upsertOf([1, 2, 3, 4]), 'records[1].values', 'an array of 4'],
  ['upsert', upsertOf([]), 'records[1].values', 'an empty array'],
  ['upsert', upsertOf(Array(8_192).fill(0.5)), 'records[1].values', 'an array of 8192'],
  ['query', { vector: [1, 2] }, 'vector', 'an array of 2'],
  ['query', { vector: [1, 2, 3, 4] }, 'vector', 'an array of 4'],
])('%s', async (operation, body, path, got) => {
  const before = await collection();
  const answer = await service.api('POST', `/collections/demo/${operation}`, body);
  expect(answer).toMatchObject({
    status: 400,
    body: {
      code: 'DIMENSION_MISMATCH',
      error: expect.stringContaining('3 dimensions'),
      details: [{ path, expected: '3 numbers', got }],
    },
  });
  // The valid record next to it is not written either.
  expect(await collection()).toEqual(before);
});
