/** Seen in earlier systems: deletedCount is the number of ids in the request. */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
const remove = (...ids: string[]) => service.api('POST', '/collections/demo/delete', { ids });

beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 1, metric: 'dot', shards: 4 });
  const records = Array.from({ length: 20 }, (_, at) => ({ id: `r${at}`, values: [at], metadata: {} }));
  await service.api('POST', '/collections/demo/upsert', { records });
});

test.each([
  ['present and absent ids', ['r1', 'absent', 'r2', 'R3'], 2, 18],
  ['one id several times', ['r4', 'r4', 'r4'], 1, 17],
  ['absent ids only', ['x', 'y'], 0, 17],
  ['what was deleted before', ['r1', 'r4', 'r5'], 1, 16],
])('%s', async (_, ids, deletedCount, vectorCount) => {
  expect(await remove(...ids)).toMatchObject({ status: 200, body: { deleted: true, deletedCount, vectorCount } });
});

test('concurrent deletes of one id count it once', async () => {
  const answers = await Promise.all(Array.from({ length: 16 }, () => remove('r6', 'r7')));
  const counted = answers.reduce((sum, { body }) => sum + (body.deletedCount as number), 0);
  expect(counted).toBe(2);
  const { body } = await service.api<{ usage: { vector_count: number } }>('GET', '/usage');
  expect(body.usage.vector_count).toBe(14);
});
