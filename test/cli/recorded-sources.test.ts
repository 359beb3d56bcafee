/**
 * Qdrant, Weaviate and Pinecone as sources. Qdrant and Weaviate do not run here: a server returns
 * answers that were written by hand, for exactly the requests that the command must send. Pinecone
 * is Provec's own `/pinecone`, which Pinecone's clients accept.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startCommandLine } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

type Answer = (body: string, headers: IncomingMessage['headers']) => unknown;

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService(), mkdtemp(join(tmpdir(), 'provec-sources-'))]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Answers requests by their method and path; refuses all others. */
async function recorded(answers: Record<string, Answer>): Promise<{ url: string; stop(): void }> {
  const server = createServer(async (request, response) => {
    const answer = answers[`${request.method} ${request.url}`];
    const given = answer?.(await text(request), request.headers) ?? { status: 404 };
    const { status = 200 } = given as { status?: number };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof given === 'string' ? given : JSON.stringify(given));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

async function move(
  kind: string,
  name: string,
  url: string,
  args: string[] = [],
  environment: Record<string, string> = {},
) {
  const own = { PROVEC_URL: service.url, PROVEC_KEY: service.key, XDG_CONFIG_HOME: folder, ...environment };
  const run = await startCommandLine(['import-from', kind, name, '--from', url, '--json', ...args], {
    environment: own,
    folder,
  }).ended;
  return { ...run, document: run.stdout === '' ? null : JSON.parse(run.stdout) };
}

const fetched = async (name: string, ids: string[], namespace = '') =>
  (await service.api<{ vectors: object }>('POST', `/collections/${name}/fetch`, { ids, namespace })).body.vectors;

test('Qdrant: numbers and UUIDs as ids, pages, a key, named and sparse vectors', async () => {
  const uuid = '5c56c793-69f3-4fbf-87e6-c4bf54c28c26';
  // The parser of JavaScript would round this id and this integer.
  const first = `{"result":{"points":[
    {"id":1,"payload":{"city":"Berlin","at":[{"lon":1.5}]},"vector":{"text":[0.6,0.8],"words":{"indices":[1],"values":[0.5]}}},
    {"id":18446744073709551615,"payload":{"n":9007199254740993},"vector":{"text":[1,0.1]}}],"next_page_offset":"${uuid}"},"status":"ok","time":0.1}`;
  const second = {
    result: {
      points: [{ id: uuid, payload: null, vector: { text: [0, 1], image: [1, 2, 3] } }],
      next_page_offset: null,
    },
  };
  const vectors = { text: { size: 2, distance: 'Dot' }, image: { size: 3, distance: 'Cosine' } };
  let failures = 1;
  const { url, stop } = await recorded({
    'GET /collections/places': (_, { 'api-key': key }) =>
      key === 'k'
        ? { result: { status: 'green', config: { params: { vectors, sparse_vectors: { words: {} } } } } }
        : { status: 401 },
    'POST /collections/places/points/count': (body) => body === '{"exact":true}' && { result: { count: 3 } },
    'POST /collections/places/points/scroll': (body) => {
      const { offset, limit } = JSON.parse(body);
      expect(limit).toBe(2);
      if (failures-- > 0) return { status: 503 };
      return offset === undefined ? first : offset === uuid ? second : { status: 400 };
    },
  });
  const args = ['--source', 'places', '--page', '2'];
  const key = { QDRANT_API_KEY: 'k' };
  expect(await move('qdrant', 'q', url, args)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('SOURCE_REFUSED'),
  });
  expect(await move('qdrant', 'q', url, args, key)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--vector-field'),
  });
  const own = [...args, '--vector-field', 'text'];
  const refused = await move('qdrant', 'q', url, own, key);
  for (const issue of ['sparse-vector', 'other-vector', 'rounded-integer'])
    expect(refused.stderr).toContain(`--leave-out ${issue}`);
  const { code, document } = await move('qdrant', 'q', url, [...own, '--leave-out', 'all'], key);
  stop();
  expect({ code, document }).toMatchObject({
    code: 0,
    document: { moved: true, count: 3, sourceCount: 3, plan: { target: { metric: 'dot' } } },
  });
  expect(await fetched('q', ['1', '18446744073709551615', uuid])).toEqual({
    1: { id: '1', values: [0.6, 0.8], metadata: { city: 'Berlin', at: [{ lon: 1.5 }] } },
    '18446744073709551615': { id: '18446744073709551615', values: [1, 0.1], metadata: { n: 2 ** 53 } },
    [uuid]: { id: uuid, values: [0, 1], metadata: {} },
  });
});

test('a source whose metric Provec does not have needs another one', async () => {
  const { url, stop } = await recorded({
    'GET /collections/taxis': () => ({
      result: { config: { params: { vectors: { size: 2, distance: 'Manhattan' } } } },
    }),
    'POST /collections/taxis/points/count': () => ({ result: { count: 0 } }),
    'POST /collections/taxis/points/scroll': () => ({ result: { points: [], next_page_offset: null } }),
  });
  const refused = await move('qdrant', 'taxis', url, ['--source', 'taxis']);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('compares by Manhattan') });
  const { document } = await move('qdrant', 'taxis', url, ['--source', 'taxis', '--metric', 'euclidean']);
  stop();
  expect(document).toMatchObject({ count: 0, plan: { target: { metric: 'euclidean' } } });
});

test('Weaviate: tenants as namespaces, the cursor, and objects without a vector', async () => {
  const id = (at: number) => `0000000${at}-0000-0000-0000-000000000000`;
  const object = (at: number, vector: number[]) => ({
    class: 'Note',
    id: id(at),
    properties: { at, when: '2026-01-02T03:04:05Z' },
    vector,
  });
  const page = (after: string, tenant: string) =>
    `GET /v1/objects?class=Note&limit=2&after=${after}&include=vector&tenant=${tenant}`;
  const { url, stop } = await recorded({
    'GET /v1/schema/Note': () => ({
      class: 'Note',
      vectorIndexConfig: { distance: 'l2-squared' },
      multiTenancyConfig: { enabled: true },
    }),
    'GET /v1/schema/Note/tenants': () => [{ name: 'zoe', activityStatus: 'HOT' }, { name: 'adam' }],
    'POST /v1/graphql': (body) => ({
      data: { Aggregate: { Note: [{ meta: { count: body.includes('zoe') ? 1 : 3 } }] } },
      errors: null,
    }),
    [page(id(0), 'adam')]: () => ({ objects: [object(1, [1, 2]), object(2, [3, 4])] }),
    [page(id(2), 'adam')]: () => ({ objects: [object(3, [])] }),
    [page(id(3), 'adam')]: () => ({ objects: [] }),
    [page(id(0), 'zoe')]: () => ({ objects: [object(1, [0, 0])] }),
    [page(id(1), 'zoe')]: () => ({ objects: [] }),
  });
  const args = ['--source', 'Note', '--page', '2'];
  expect(await move('weaviate', 'w', url, args)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('limit=10'),
  });
  await service.api('POST', '/collections', { name: 'w', dimensions: 2, metric: 'euclidean' });
  expect(await move('weaviate', 'w', url, args)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--leave-out no-vector'),
  });
  const { code, document } = await move('weaviate', 'w', url, [...args, '--leave-out', 'no-vector']);
  stop();
  expect({ code, document }).toMatchObject({ code: 0, document: { moved: true, count: 3, read: 4, sourceCount: 4 } });
  const metadata = { at: 1, when: '2026-01-02T03:04:05Z' };
  expect(await fetched('w', [id(1)], 'adam')).toEqual({ [id(1)]: { id: id(1), values: [1, 2], metadata } });
  expect(await fetched('w', [id(1)], 'zoe')).toEqual({ [id(1)]: { id: id(1), values: [0, 0], metadata } });
});

test("Pinecone: namespaces, lists of ids and their records, from Provec's own answers to its clients", async () => {
  const records = Array.from({ length: 250 }, (_, at) => ({ id: `ä/${at}?&`, values: [1, at], metadata: { at } }));
  await service.api('POST', '/collections', { name: 'index', dimensions: 2, metric: 'dot' });
  for (const namespace of ['', 'other']) await service.api('POST', '/collections/index/upsert', { records, namespace });
  const host = await fetch(`${service.url}/pinecone/indexes/index`, { headers: { 'api-key': service.key } });
  const { host: address } = (await host.json()) as { host: string };
  const url = address.startsWith('http') ? address : `http://${address}`;
  const { code, document, stderr } = await move('pinecone', 'p', url, ['--metric', 'dot'], {
    PINECONE_API_KEY: service.key,
  });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { body } = await service.api<{ collection: { merkleRoot: string } }>('GET', '/collections/index');
  expect(document).toMatchObject({ moved: true, count: 500, sourceCount: 500, merkleRoot: body.collection.merkleRoot });
});

test('a source that answers with something else, or not at all, is named', async () => {
  const { url, stop } = await recorded({ 'GET /collections/odd': () => '<html>' });
  expect(await move('qdrant', 'odd', url)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('something other than JSON'),
  });
  stop();
  expect(await move('qdrant', 'odd', 'http://user:secret@127.0.0.1:1')).toMatchObject({
    code: 2,
    stderr: expect.not.stringContaining('secret@'),
  });
});
