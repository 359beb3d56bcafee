/**
 * Someone who can write to the store puts values of other types into single rows while the service
 * is stopped. The next start names the rows, and only what they belong to is affected.
 */

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { putAnywhere } from '../../support/loosened-file.ts';
import { startService, type TestService } from '../../support/service.ts';

const RECORDS = ['a', 'b'].map((id) => ({ id, values: [1, 0, 0] }));

let service: TestService;
const ids = new Map<string, string>();
let otherKey: { id: string; api: Api };

const upsert = (name: string) => service.api('POST', `/collections/${name}/upsert`, { records: RECORDS });
const query = (name: string) => service.api('POST', `/collections/${name}/query`, { vector: [1, 0, 0], topK: 2 });
const verify = async (name: string) => (await service.api<VerifyResult>('GET', `/collections/${name}/verify`)).body;

beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'error' });
  for (const name of ['sound', 'record', 'head', 'mark', 'row']) {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', { name, dimensions: 3 });
    ids.set(name, body.collection.id);
    await upsert(name);
  }
  const { body } = await service.api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'other' });
  otherKey = { id: body.key.id, api: apiClient(service, body.key.secret) };
  expect(await otherKey.api('GET', '/collections')).toMatchObject({ status: 200 });
  await service.provec.stop();
});
afterAll(() => service.stop());

test('a start names the rows, and continues', async () => {
  const change = (file: 'log.db' | 'records.db', table: string, column: string, which: string) =>
    expect(putAnywhere(service.dataDir, file, { table, column }, 1.5, which)).toBe(true);
  const of = (name: string) => `collection = '${ids.get(name)}'`;
  change('records.db', 'records', 'vector', `id = x'62' AND shard = (SELECT number FROM shards WHERE ${of('record')})`);
  change('records.db', 'shards', 'seq', of('mark'));
  change('log.db', 'shards', 'seq', of('head'));
  change('log.db', 'collections', 'dimensions', `id = '${ids.get('row')}'`);
  change('log.db', 'keys', 'hash', `id = '${otherKey.id}'`);
  await service.restart();
  for (const place of ['records.vector', 'shards.seq', 'collections.dimensions', 'keys.hash'])
    expect(service.logged).toMatch(
      new RegExp(`has a value of type REAL in ${place} instead of .*, in the row whose rowid is \\d+"`),
    );
});

test('nothing unrelated to the rows is affected', async () => {
  expect(await upsert('sound')).toMatchObject({ status: 200 });
  expect(await verify('sound')).toMatchObject({ state: 'not_anchored', vectorCount: 2 });
});

test('a record: verify names it, and the others are served', async () => {
  expect(await verify('record')).toMatchObject({ state: 'mismatch', differences: [{ id: 'b' }] });
  expect(await query('record')).toMatchObject({ status: 200, body: { matches: [{ id: 'a' }] } });
});

test("a head, the applied seq of the records, or a collection's row: it is not trusted", async () => {
  for (const name of ['head', 'mark', 'row']) {
    const { state } = await verify(name);
    expect({ name, state }).toEqual({ name, state: name === 'head' ? 'mismatch' : undefined });
  }
});

test('an API key: it opens nothing, and others do', async () => {
  expect(await otherKey.api('GET', '/collections')).toMatchObject({ status: 401 });
  expect(await service.api('GET', '/collections')).toMatchObject({ status: 200 });
});
