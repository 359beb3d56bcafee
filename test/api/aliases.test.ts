import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { verifyExport } from '../../client/index.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

let service: SharedService;
let turn = 0;
/** Names unique to the current test. */
let [blue, green, live] = ['', '', ''];

beforeAll(async () => {
  service = await shareService();
});
beforeEach(async () => {
  turn++;
  [blue, green, live] = [`blue-${turn}`, `green-${turn}`, `live-${turn}`];
  for (const name of [blue, green]) {
    await service.api('POST', '/collections', { name, dimensions: 1, metric: 'dot', shards: 4 });
    await service.api('POST', `/collections/${name}/upsert`, { records: [{ id: name, values: [1] }] });
  }
});

const put = (alias: string, collection: string) => service.api('PUT', `/aliases/${alias}`, { collection });
const idsBehind = async (name: string): Promise<string[]> => {
  const { body } = await service.api<{ matches: { id: string }[] }>('POST', `/collections/${name}/query`, {
    vector: [1],
  });
  return body.matches.map(({ id }) => id);
};

test('creates, reads, lists, switches and deletes an alias', async () => {
  expect(await put(live, blue)).toMatchObject({ status: 201, body: { alias: live, collection: blue } });
  expect(await service.api('GET', `/aliases/${live}`)).toMatchObject({
    status: 200,
    body: { alias: live, collection: blue },
  });
  expect(await idsBehind(live)).toEqual([blue]);
  expect(await put(live, green)).toMatchObject({ status: 200, body: { alias: live, collection: green } });
  expect(await put(live, green)).toMatchObject({ status: 200 });
  expect(await idsBehind(live)).toEqual([green]);
  const { body } = await service.api<{ aliases: object[] }>('GET', '/aliases');
  expect(body.aliases).toContainEqual({ alias: live, collection: green });
  expect(await service.api('DELETE', `/aliases/${live}`)).toMatchObject({ status: 200, body: { deleted: true } });
  for (const method of ['GET', 'DELETE'])
    expect(await service.api(method, `/aliases/${live}`)).toEqual(refusal(404, 'ALIAS_NOT_FOUND'));
  expect((await service.api('POST', `/collections/${live}/query`, { vector: [1] })).body).toMatchObject({
    code: 'COLLECTION_NOT_FOUND',
  });
});

describe('an alias works wherever a collection name does', () => {
  const records = [{ id: 'new', values: [2], namespace: undefined }];
  test.each<[string, string, string, unknown]>([
    ['POST', '/upsert', 'merkleRoot', { records }],
    ['POST', '/update', 'updatedCount', { updates: [{ id: 'new', setMetadata: { a: 1 } }] }],
    ['POST', '/fetch', 'vectors', { ids: ['new'] }],
    ['POST', '/query', 'matches', { vector: [1] }],
    ['POST', '/queries', 'results', { queries: [{ vector: [1] }] }],
    ['POST', '/count', 'count', {}],
    ['POST', '/facets', 'values', { field: 'a' }],
    ['POST', '/list', 'records', {}],
    ['POST', '/delete', 'deleted', { ids: ['new'] }],
    ['GET', '', 'collection', undefined],
    ['PATCH', '', 'collection', { deletionProtection: false }],
    ['GET', '/namespaces', 'namespaces', undefined],
    ['GET', '/proof?id=new', 'proof', undefined],
    ['GET', '/verify', 'state', undefined],
    ['GET', '/anchors', 'anchors', undefined],
  ])('%s %s', async (method, path, field, body) => {
    await put(live, blue);
    const reply = await service.api(method, `/collections/${live}${path}`, body);
    expect([reply.status, Object.keys(reply.body)]).toEqual([200, expect.arrayContaining([field])]);
  });

  test("answers contain the collection's own name", async () => {
    await put(live, blue);
    const { body } = await service.api<{ collection: { name: string } }>('GET', `/collections/${live}`);
    expect(body.collection.name).toBe(blue);
  });
});

test('a verification started through an alias is found after a switch', async () => {
  await put(live, blue);
  const { body, headers } = await service.api<{ id: string }>('POST', `/collections/${live}/verifications`);
  expect(headers.get('location')).toBe(`/api/v1/collections/${blue}/verifications/${body.id}`);
  expect(Object.keys(body)).not.toContain('collection');
  await put(live, green);
  const found = await service.api('GET', `/collections/${blue}/verifications/${body.id}`);
  expect(found).toMatchObject({ status: 200, body: { id: body.id } });
});

test('a 201 contains the path of the new alias', async () => {
  const location = async (collection: string) => {
    const response = await fetch(`${service.url}/api/v1/aliases/${live}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ collection }),
    });
    return [response.status, response.headers.get('location')];
  };
  expect(await location(blue)).toEqual([201, `/api/v1/aliases/${live}`]);
  expect(await location(green)).toEqual([200, null]);
});

test('a 404 for a misspelt alias suggests the right one', async () => {
  await put(`customers-${turn}`, blue);
  const { body } = await service.api('POST', `/collections/custmers-${turn}/query`, { vector: [1] });
  expect(body.error).toContain(`did you mean customers-${turn}?`);
});

test('of a concurrent switch and deletion of the new collection, one is refused', async () => {
  await put(live, blue);
  for (let round = 0; round < 20; round++) {
    const name = `round-${turn}-${round}`;
    await service.api('POST', '/collections', { name, dimensions: 1 });
    const [switched, deleted] = await Promise.all([put(live, name), service.api('DELETE', `/collections/${name}`)]);
    const isSwitched = switched.status === 200;
    expect([switched.status, deleted.status]).toEqual(isSwitched ? [200, 409] : [404, 200]);
    expect((await service.api('GET', `/aliases/${live}`)).body).toEqual({
      alias: live,
      collection: isSwitched ? name : blue,
    });
    await put(live, blue);
  }
});

test('a name belongs to a collection or an alias, and an alias cannot point to an alias', async () => {
  await put(live, blue);
  expect(await put(green, blue)).toEqual(refusal(409, 'COLLECTION_EXISTS'));
  expect(await put(blue, blue)).toEqual(refusal(409, 'COLLECTION_EXISTS'));
  expect(await put(`more-${turn}`, live)).toEqual(refusal(409, 'NAME_IS_ALIAS'));
  expect(await service.api('POST', '/collections', { name: live, dimensions: 1 })).toEqual(
    refusal(409, 'ALIAS_EXISTS'),
  );
  expect(await put(live, `none-${turn}`)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
  expect(await idsBehind(live)).toEqual([blue]);
});

test('a collection is deleted by its own name, and not while an alias points to it', async () => {
  await put(live, blue);
  expect(await service.api('DELETE', `/collections/${live}`)).toEqual(refusal(409, 'NAME_IS_ALIAS'));
  const refused = await service.api<{ error: string }>('DELETE', `/collections/${blue}`);
  expect(refused).toEqual(refusal(409, 'COLLECTION_HAS_ALIAS'));
  expect(refused.body.error).toContain(live);
  await put(live, green);
  expect((await service.api('DELETE', `/collections/${blue}`)).status).toBe(200);
  expect(await idsBehind(live)).toEqual([green]);
});

test.each([
  ['no collection', {}, 'collection'],
  ['a number', { collection: 7 }, 'collection'],
  ['no name', { collection: '../x' }, 'collection'],
  ['another field', { collection: 'x', name: 'y' }, 'name'],
])('%s is refused with the name of the field', async (_, body, path) => {
  expect(await service.api('PUT', `/aliases/${live}`, body)).toEqual(
    refusal(400, 'INVALID_ARGUMENT', {
      details: [{ path, expected: expect.any(String), got: expect.any(String) }],
    }),
  );
});

test('aliases follow the naming rules of collections', async () => {
  expect(await put('-x', blue)).toEqual(
    refusal(400, 'INVALID_ARGUMENT', {
      details: [{ path: 'alias', expected: expect.any(String), got: expect.any(String) }],
    }),
  );
  expect(await service.api('GET', '/aliases/-x')).toEqual(refusal(404, 'ALIAS_NOT_FOUND'));
  expect(await service.api('DELETE', '/aliases/-x')).toEqual(refusal(404, 'ALIAS_NOT_FOUND'));
});

test("accounts do not see each other's aliases", async () => {
  await put(live, blue);
  const other = await createTenant(service, 'enterprise');
  for (const [method, path] of [
    ['GET', `/aliases/${live}`],
    ['DELETE', `/aliases/${live}`],
  ])
    expect(await other.api(method, path)).toEqual(refusal(404, 'ALIAS_NOT_FOUND'));
  expect((await other.api('GET', '/aliases')).body).toEqual({ aliases: [] });
  expect(await other.api('PUT', `/aliases/${live}`, { collection: blue })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
  expect((await other.api('POST', '/collections', { name: live, dimensions: 1 })).status).toBe(201);
});

test('every request that begins after the answer to a switch uses the new collection, and none fails', async () => {
  await put(live, blue);
  /** Odd while the alias is being switched; either target is right then. */
  let switches = 0;
  const wrong: unknown[] = [];
  const ask = async (): Promise<void> => {
    while (switches < 80) {
      const before = switches;
      const { status, body } = await service.api<{ matches: { id: string }[] }>('POST', `/collections/${live}/query`, {
        vector: [1],
      });
      const right = before % 4 === 0 ? blue : green;
      const isSure = before === switches && before % 2 === 0;
      if (status !== 200 || (isSure && body.matches[0]?.id !== right)) wrong.push({ status, body, before });
    }
  };
  const clients = Array.from({ length: 8 }, ask);
  while (switches < 80) {
    const next = switches % 4 === 0 ? green : blue;
    switches++;
    await put(live, next);
    switches++;
    expect(await idsBehind(live)).toEqual([next]);
  }
  await Promise.all(clients);
  expect(wrong).toEqual([]);
});

test('an import and an export stay on the collection on which they began', async () => {
  await put(live, blue);
  const metadata = { text: 'x'.repeat(4_000) };
  const lines = Array.from(
    { length: 5_000 },
    (_, at) => `${JSON.stringify({ id: `i${at}`, values: [at], metadata })}\n`,
  );
  let sent = 0;
  const body = new ReadableStream({
    async pull(controller) {
      if (sent === lines.length) return controller.close();
      if (sent === 2_500) await put(live, green);
      controller.enqueue(new TextEncoder().encode(lines.slice(sent, sent + 500).join('')));
      sent += 500;
    },
  });
  const imported = await fetch(`${service.url}/api/v1/collections/${live}/import`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.key}`, 'content-type': 'application/x-ndjson' },
    body,
    duplex: 'half',
  } as RequestInit);
  expect(await imported.json()).toMatchObject({ importedCount: 5_000, vectorCount: 5_001 });
  const count = async (name: string) => (await service.api('POST', `/collections/${name}/count`, {})).body.count;
  expect([await count(blue), await count(green)]).toEqual([5_001, 1]);

  await put(live, blue);
  const exported = await fetch(`${service.url}/api/v1/collections/${live}/export`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  let text = '';
  for await (const chunk of exported.body!) {
    if (text === '') await put(live, green);
    text += Buffer.from(chunk as Uint8Array).toString('latin1');
  }
  expect(await verifyExport(text.split('\n'))).toMatchObject({ vectorCount: 5_001 });
});
