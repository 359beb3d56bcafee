/** Texts of agents become vectors at an endpoint of OpenAI's shape, whatever the endpoint does. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Agent } from '../../support/agent.ts';
import { answerWith, EmbeddingsServer, type Mood, vectorOf } from '../../support/embeddings-server.ts';
import { startService, type TestService } from '../../support/service.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const DIMENSIONS = 4;
const KEY = 'sk-secret-of-the-endpoint';
const PER_MINUTE = 200;

let endpoint: EmbeddingsServer;
let usual: Mood;
let service: TestService;
let agent: Agent;
beforeAll(async () => {
  endpoint = await EmbeddingsServer.start(DIMENSIONS);
  usual = endpoint.mood;
  service = await startService({
    PROVEC_LEDGER: 'off',
    PROVEC_LOG_LEVEL: 'debug',
    PROVEC_EMBEDDINGS_URL: endpoint.url,
    PROVEC_EMBEDDINGS_MODEL: 'test-model',
    PROVEC_EMBEDDINGS_KEY: KEY,
    PROVEC_EMBEDDINGS_PER_MINUTE: String(PER_MINUTE),
  });
  await service.api('POST', '/collections', { name: 'notes', dimensions: DIMENSIONS });
  await service.api('POST', '/collections', { name: 'other', dimensions: DIMENSIONS + 1 });
  agent = await Agent.overHttp({ url: service.url, key: TEST_KEY }, '2026-07-28', '?collection=notes');
});
afterAll(async () => {
  await agent.close();
  await service.stop();
  endpoint.close();
});
beforeEach(() => {
  endpoint.mood = usual;
  endpoint.asked.length = 0;
});

const valuesOf = async (id: string) => {
  const { body } = await service.api<{ vectors: Record<string, { values: number[] }> }>(
    'POST',
    '/collections/notes/fetch',
    { ids: [id] },
  );
  return body.vectors[id]?.values;
};

test('texts get their vectors in one request, and vectors that are given stay', async () => {
  const records = [
    { id: 'a', text: 'first text' },
    { id: 'b', text: 'given', values: [1, 2, 3, 4] },
    { id: 'c', text: 'third' },
  ];
  await agent.call('remember', { records });
  expect(endpoint.asked).toEqual([
    {
      body: { model: 'test-model', input: ['first text', 'third'], encoding_format: 'float' },
      authorization: `Bearer ${KEY}`,
    },
  ]);
  expect(await valuesOf('a')).toEqual(vectorOf('first text', DIMENSIONS).map(Math.fround));
  expect(await valuesOf('b')).toEqual([1, 2, 3, 4]);
  expect(await valuesOf('c')).toEqual(vectorOf('third', DIMENSIONS).map(Math.fround));
});

test('search by text finds the same text, and update gives a new text its vector', async () => {
  await agent.call('remember', { records: [{ id: 'd', text: 'needle' }] });
  const found = await agent.call('search', { text: 'needle', topK: 1 });
  expect(found.json.matches).toEqual([{ id: 'd', score: expect.closeTo(1, 5), metadata: { text: 'needle' } }]);
  const updated = await agent.call('update', { updates: [{ id: 'd', text: 'haystack' }] });
  expect(updated.json).toEqual(expect.not.objectContaining({ note: expect.anything() }));
  expect(await valuesOf('d')).toEqual(vectorOf('haystack', DIMENSIONS).map(Math.fround));
  await agent.call('update', { updates: [{ id: 'd', setMetadata: { year: 1 } }] });
  expect(endpoint.asked).toHaveLength(3);
});

test('no text leaves before the scope, the collection and the arguments are checked', async () => {
  const { body } = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'r', scopes: ['read'] });
  const reader = await Agent.overHttp({ url: service.url, key: body.key.secret }, '2026-07-28');
  const refused = [
    await reader.call('remember', { collection: 'notes', records: [{ text: 'secret' }] }),
    await agent.call('remember', { collection: 'absent', records: [{ text: 'secret' }] }),
    await agent.call('remember', { records: [{ text: 'secret' }, { txt: 'secret' }] }),
    await agent.call('search', { text: 'secret', topK: 0 }),
  ];
  expect(refused.map(({ isError }) => isError)).toEqual([true, true, true, true]);
  expect(endpoint.asked).toEqual([]);
  await reader.close();
});

const status =
  (code: number): Mood =>
  (_, response) =>
    void response.writeHead(code).end(`{"error":{"message":"Incorrect API key provided: ${KEY}"}}`);
const body =
  (text: string): Mood =>
  (_, response) =>
    void response.end(text);
const endless: Mood = (_, response) => {
  const more = () => void response.write(Buffer.alloc(64 * 1024, 0x20), (error) => error ?? more());
  more();
};

describe('an endpoint that fails is an error in words, and nothing is stored', () => {
  test.each<[string, Mood, string]>([
    ['refuses the key', status(401), 'refused the texts with HTTP status 401'],
    ['is overloaded', status(503), 'refused the texts with HTTP status 503'],
    ['hangs up', (request) => void request.socket.destroy(), 'cannot be reached'],
    ['answers no JSON', body('<html>'), 'something other than JSON'],
    ['answers null', body('null'), 'without a vector for each text'],
    ['answers too few', (_, response) => answerWith(response, []), 'without a vector for each text'],
    [
      'answers the same one twice',
      body('{"data":[{"index":5,"embedding":[1,2,3,4]}]}'),
      'without a vector for each text',
    ],
    ['answers no numbers', (_, response) => answerWith(response, [['1', 2, 3, 4]]), 'not an array of numbers'],
    ['answers base64', (_, response) => answerWith(response, ['AAAA']), 'not an array of numbers'],
    ['answers without an end', endless, 'more than vectors of the right size take'],
  ])('%s', async (_, mood, said) => {
    endpoint.mood = mood;
    const before = (await agent.call('count')).json;
    const stored = await agent.call('remember', { records: [{ text: 'the words of a memory' }] });
    const found = await agent.call('search', { text: 'the words of a memory' });
    for (const { isError, text } of [stored, found]) {
      expect(isError).toBe(true);
      expect(text).toContain(said);
      expect(text).toMatch(/try again later, or give the vector\. Try again in 1 s\. \(UNAVAILABLE\)$/);
      expect(text).not.toContain(KEY);
    }
    expect((await agent.call('count')).json).toEqual(before);
  });

  test('to another address, no text is sent', async () => {
    const other = await EmbeddingsServer.start(DIMENSIONS);
    endpoint.mood = (_, response) => void response.writeHead(307, { location: other.url }).end();
    const { text } = await agent.call('search', { text: 'hello' });
    expect(text).toContain('cannot be reached');
    expect(other.asked).toEqual([]);
    other.close();
  });

  test('with vectors of another length, the answer names both', async () => {
    const { text } = await agent.call('search', { collection: 'other', text: 'hello' });
    expect(text).toMatch(/makes vectors of 4 numbers, and the collection has 5 dimensions\..*\(DIMENSION_MISMATCH\)$/);
  });

  test('with vectors that the collection refuses, the answer names the record', async () => {
    endpoint.mood = (_, response) => answerWith(response, [[0, 0, 0, 0]]);
    const { isError, text } = await agent.call('remember', { records: [{ text: 'nothing' }] });
    expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining('records[0].values') });
  });

  test('the log says what failed, without texts and keys', async () => {
    endpoint.mood = status(500);
    await agent.call('search', { text: 'the words of a memory' });
    expect(service.logged).toContain('the embeddings endpoint failed');
    expect(service.logged).not.toContain('words of a memory');
    expect(service.logged).not.toContain(KEY);
  });
});

test('a client that leaves ends the request to the endpoint', async () => {
  const { aborted } = endpoint;
  endpoint.mood = () => undefined;
  const leaving = new AbortController();
  const call = agent.call('search', { text: 'slow' }, { signal: leaving.signal });
  const refused = expect(call).rejects.toThrow();
  await until('the endpoint is asked', () => endpoint.asked.length === 1);
  leaving.abort(new Error('left'));
  await refused;
  await until('the request to the endpoint ends', () => endpoint.aborted === aborted + 1);
  // Else the time limit ended it.
  expect(service.logged).not.toContain('did not answer in time');
});

test('an account waits for its own slow texts, and never keeps more than a share of the requests', async () => {
  const held: (() => void)[] = [];
  endpoint.mood = (request, response, texts) => held.push(() => usual(request, response, texts));
  const calls = Array.from({ length: 20 }, (_, at) => agent.call('search', { text: `text ${at}` }));
  await until('the account has its share of requests', () => held.length >= 10);
  expect((await agent.call('count')).isError).toBe(false);
  expect(held.length).toBeLessThan(16);
  endpoint.mood = usual;
  for (const answer of held) answer();
  expect((await Promise.all(calls)).map(({ isError }) => isError)).toEqual(Array(20).fill(false));
});

test('an account may have a number of texts embedded per minute', async () => {
  const records = Array.from({ length: 32 }, (_, at) => ({ id: `r${at}`, text: `text ${at}` }));
  const answers = [];
  for (let texts = 0; texts <= PER_MINUTE; texts += records.length)
    answers.push(await agent.call('remember', { records }));
  const last = answers.at(-1)!;
  expect(last.isError).toBe(true);
  expect(last.text).toMatch(
    /may have 200 texts embedded per minute; give vectors, or wait\. Try again in \d+ s\. \(RATE_LIMITED\)/,
  );
  const given = await agent.call('remember', { records: [{ id: 'v', text: 'with its vector', values: [1, 2, 3, 4] }] });
  expect(given.isError).toBe(false);
});
