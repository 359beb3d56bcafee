/** Imports whose collection is deleted while they run. */
import { expect, test } from '@jest/globals';
import { shareService } from '../support/shared-service.ts';
import { until } from '../support/until.ts';

const lines = (from: number, to: number): Uint8Array =>
  Buffer.from(Array.from({ length: to - from }, (_, at) => `{"id":"r${from + at}","values":[1,2]}\n`).join(''));

test.each([
  ['nothing', 'nothing'],
  ['another collection', 'collection'],
  ['an alias of another collection', 'alias'],
])('if its name now belongs to %s, the next entry gets 404 and is stored nowhere', async (_, namesake) => {
  const service = await shareService();
  const { api } = service;
  for (const name of ['notes', 'other']) await api('POST', '/collections', { name, dimensions: 2 });
  const countOf = async (name: string) => (await api('POST', `/collections/${name}/count`, {})).body.count;

  async function* body(): AsyncIterable<Uint8Array> {
    yield lines(0, 2_500);
    await until('the first entry is stored', async () => (await countOf('notes')) === 1_000);
    expect(await api('DELETE', '/collections/notes')).toMatchObject({ status: 200 });
    if (namesake === 'collection')
      expect(await api('POST', '/collections', { name: 'notes', dimensions: 2 })).toMatchObject({ status: 201 });
    if (namesake === 'alias')
      expect(await api('PUT', '/aliases/notes', { collection: 'other' })).toMatchObject({ status: 201 });
    yield lines(2_500, 4_500);
  }
  const response = await fetch(`${service.url}/api/v1/collections/notes/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/x-ndjson' },
    body: ReadableStream.from(body()) as never,
    duplex: 'half',
  } as RequestInit);
  const answer = (await response.json()) as { code: string; error: string };
  expect([response.status, answer.code]).toEqual([404, 'COLLECTION_NOT_FOUND']);
  expect(answer.error).toBe(
    'The collection was deleted during the import, with 1,000 records that the import had stored.',
  );
  for (const name of namesake === 'nothing' ? ['other'] : ['other', 'notes']) expect(await countOf(name)).toBe(0);
});
