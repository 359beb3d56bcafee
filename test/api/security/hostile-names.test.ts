import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { verifyProof } from '../../../client/index.ts';
import type { RecordProof, WriteResult } from '../../../contracts/actions/collections.ts';
import { expectRefusal, hostileRequest } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';

const IDS = [
  '../x',
  '../../../../etc/passwd',
  '/',
  '.',
  '..',
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  '$ne',
  '{"$gt":""}',
  "'; DROP TABLE records; --",
  'b\u0000',
  'a\u0000b',
  '\r\nSet-Cookie: a=b',
  '%00',
  '%2e%2e%2f',
  ' ',
  '\u202e',
  'marked',
  '\ufeffmarked',
  'marked\ufeff',
  'é',
  'e\u0301',
  '🧭'.repeat(128),
  'x'.repeat(512),
  '<script>alert(1)</script>',
];

let service: HostileService;
beforeAll(async () => {
  service = await hostileService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2, shards: 4 });
});
afterAll(() => service.stop());

describe('ids', () => {
  const record = (at: number) => ({ id: IDS[at]!, values: [1, at], metadata: { [IDS[at]!.slice(0, 64)]: at } });
  const all = IDS.map((_, at) => record(at)).filter(({ id }) => id !== '__proto__');

  test('any id is kept apart from all others, and returned as sent', async () => {
    const proto = { id: '__proto__', values: [1, IDS.indexOf('__proto__')], metadata: { safe: true } };
    const records = [...all, proto];
    const upserted = await service.api<WriteResult>('POST', '/collections/demo/upsert', { records });
    expect(upserted).toMatchObject({ status: 200, body: { upsertedCount: IDS.length, vectorCount: IDS.length } });

    const { text } = await hostileRequest(service, 'POST', '/collections/demo/fetch', JSON.stringify({ ids: IDS }));
    const vectors = new Map(Object.entries((JSON.parse(text) as { vectors: Record<string, object> }).vectors));
    expect(vectors.size).toBe(IDS.length);
    for (const each of records) expect(vectors.get(each.id)).toEqual(each);

    for (const { id, values, metadata } of records) {
      const found = await service.api<{ matches: object[] }>('POST', '/collections/demo/query', { id, topK: 1 });
      expect(found.body.matches).toMatchObject([{ id, metadata }]);
      const path = `/collections/demo/proof?id=${encodeURIComponent(id)}`;
      const { proof } = (await service.api<{ proof: RecordProof }>('GET', path)).body;
      expect(verifyProof(upserted.body.merkleRoot, proof, { values, metadata })).toBe('present');
    }

    expect(await service.api('GET', '/collections/demo/verify')).toMatchObject({ body: { state: 'not_anchored' } });
    for (const [at, id] of IDS.entries()) {
      const deleted = await service.api('POST', '/collections/demo/delete', { ids: [id] });
      expect(deleted.body).toMatchObject({ deletedCount: 1, vectorCount: IDS.length - at - 1 });
    }
  });

  test.each([
    ['an empty one', ''],
    ['513 bytes', 'x'.repeat(513)],
    ['513 bytes in fewer characters', `x${'🧭'.repeat(128)}`],
  ])('%s is refused', async (_, id) => {
    const body = JSON.stringify({ ids: ['fine', id] });
    const answer = await hostileRequest(service, 'POST', '/collections/demo/delete', body);
    expect(expectRefusal(answer, 'INVALID_ARGUMENT')).toMatchObject({ details: [{ path: 'ids[1]' }] });
  });
});

describe('names of collections', () => {
  const NAMES = [
    '..',
    '.',
    '../demo',
    '..%2fdemo',
    'demo/..',
    'demo ',
    ' demo',
    'demo\u0000',
    'demo\n',
    'démo',
    '__proto__',
    '-demo',
    'demo-',
    'a'.repeat(65),
    `a${'-'.repeat(10_000)}`,
    '$ne',
    '*',
    '',
  ];

  test.each(NAMES)('%j cannot be a name', async (name) => {
    const created = await hostileRequest(service, 'POST', '/collections', JSON.stringify({ name, dimensions: 2 }));
    expect(expectRefusal(created, 'INVALID_ARGUMENT')).toMatchObject({ details: [{ path: 'name' }] });
    // URL parsers resolve dots, encoded or not, before sending.
    if (name === '' || name === '.' || name === '..') return;
    for (const [method, rest, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['GET', '/verify', undefined],
      ['POST', '/fetch', '{"ids":["a"]}'],
    ] as const) {
      const path = `/collections/${encodeURIComponent(name)}${rest}`;
      expectRefusal(await hostileRequest(service, method, path, body), 'COLLECTION_NOT_FOUND');
    }
  });

  test.each(['%', '%zz', '%ff%fe', '%c0%ae', '%ed%a0%80', '%00', 'de%6do%2f', '%252e%252e'])(
    'the path segment %s names nothing',
    async (segment) => {
      const answer = await hostileRequest(service, 'GET', `/collections/${segment}`);
      expectRefusal(answer, 'COLLECTION_NOT_FOUND');
    },
  );

  test('a percent-encoded name works', async () => {
    expect(await service.api('GET', '/collections/%64%65mo')).toMatchObject({
      status: 200,
      body: { collection: { name: 'demo' } },
    });
  });

  test.each(['constructor', 'toString', 'hasOwnProperty', 'a..b', 'NUL'])('%s is an ordinary name', async (name) => {
    const body = { name, dimensions: 2 };
    expect(await service.api('GET', `/collections/${name}`)).toMatchObject({ status: 404 });
    expect(await service.api('POST', '/collections', body)).toMatchObject({ status: 201 });
    expect(await service.api('GET', `/collections/${name}`)).toMatchObject({
      status: 200,
      body: { collection: body },
    });
    expect(await service.api('DELETE', `/collections/${name}`)).toMatchObject({ status: 200 });
  });
});
