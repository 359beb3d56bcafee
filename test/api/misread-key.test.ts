/**
 * Seen in V8 (nodejs/node#63785): a JSON key with an escape is mistaken for a key parsed earlier.
 */
import { beforeAll, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2 });
});

const upsert = (id: string, metadata: object) =>
  service.api('POST', '/collections/demo/upsert', { records: [{ id, values: [1, 1], metadata }] });

test('metadata and filters keep their keys next to similar ones', async () => {
  await upsert('first', { h: 1, '\\': 0 });
  await upsert('second', { h: 1, '"': 2 });
  const { body } = await service.api<{ vectors: Record<string, { metadata: object }> }>(
    'POST',
    '/collections/demo/fetch',
    { ids: ['first', 'second'] },
  );
  expect(body.vectors.second!.metadata).toEqual({ h: 1, '"': 2 });
  for (const [key, id] of [
    ['\\', 'first'],
    ['"', 'second'],
  ] as const) {
    const query = { vector: [1, 1], filter: { h: { $exists: true }, [key]: { $exists: true } } };
    expect((await service.api('POST', '/collections/demo/query', query)).body).toMatchObject({ matches: [{ id }] });
  }
  expect((await service.api('GET', '/collections/demo/verify?id=second')).status).toBe(200);
});
