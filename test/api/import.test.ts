import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { rootOfRecords } from '../../client/index.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { SHARD_COUNTS } from '../support/effort.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';

const RECORDS = Array.from({ length: 2_500 }, (_, at) => ({
  id: at === 7 ? '🧭 "\n' : `r${at}`,
  values: [1, at, -0.5],
  ...(at % 3 > 0 && { metadata: { at, text: 'ü🧭' } }),
  ...(at % 5 === 0 && { namespace: `tenant ${at % 2}` }),
}));
const ROOT = 'a'.repeat(64);
const linesOf = (records: readonly object[]) => records.map((record) => JSON.stringify(record));

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

interface Answer {
  status: number;
  body: Record<string, unknown> & { error?: string };
}

/** Cuts the text into chunks of any length, in the middle of lines and characters. */
function* cut(text: string): Iterable<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let from = 0, size = 1; from < bytes.length; from += size, size = 1 + ((size * 31) % 9_973))
    yield bytes.subarray(from, from + size);
}

async function send(path: string, text: string, type = 'application/x-ndjson', from = service): Promise<Answer> {
  const response = await fetch(`${from.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${from.key}`, 'content-type': type },
    body: ReadableStream.from(cut(text)) as never,
    duplex: 'half',
  } as RequestInit);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

let made = 0;
async function create(shards = 1, dimensions = 3): Promise<string> {
  const name = `imported-${made++}`;
  await service.api('POST', '/collections', { name, dimensions, shards });
  return `/collections/${name}`;
}
const count = async (path: string) => ((await service.api('GET', path)).body as never as CollectionBody).collection;
interface CollectionBody {
  collection: { vector_count: number; merkleRoot: string };
}

describe.each(SHARD_COUNTS)('over %i shards', (shards) => {
  test('writes records of every namespace, entry by entry, under the right root', async () => {
    const path = await create(shards);
    const answer = await send(`${path}/import`, linesOf(RECORDS).join('\n'));
    const merkleRoot = rootOfRecords(RECORDS);
    expect(answer).toMatchObject({
      status: 200,
      body: { importedCount: RECORDS.length, vectorCount: RECORDS.length, merkleRoot },
    });
    expect(await count(path)).toMatchObject({ vector_count: RECORDS.length, merkleRoot });
    const fetched = await service.api('POST', `${path}/fetch`, { namespace: 'tenant 1', ids: ['r5'] });
    expect(fetched.body).toEqual({
      vectors: { r5: { id: 'r5', values: [1, 5, -0.5], metadata: { at: 5, text: 'ü🧭' } } },
    });
  });

  test('importing an export gives the same root, once and again', async () => {
    const from = await create(1);
    await send(`${from}/import`, linesOf(RECORDS).join('\n'));
    const exported = await service.api<string>('GET', `${from}/export`);
    const to = await create(shards);
    const { merkleRoot } = await count(from);
    for (let again = 0; again < 2; again++) {
      const answer = await send(`${to}/import`, exported.body);
      expect(answer).toMatchObject({ status: 200, body: { importedCount: RECORDS.length, merkleRoot } });
    }
  });
});

test.each([
  ['of one line', '{"id":"a","values":[1,2,3]}', 1],
  ['with an end of its last line', '{"id":"a","values":[1,2,3]}\n', 1],
  ['with blank lines', '\n \n{"id":"a","values":[1,2,3]}\r\n\r\n\t\n{"id":"b","values":[1,2,3]}\n\n', 2],
  ['with a byte order mark', '\ufeff{"id":"a","values":[1,2,3]}\n', 1],
  ['with a record twice', '{"id":"a","values":[1,2,3]}\n{"id":"a","values":[3,2,1]}', 1],
  ['of nothing', '', 0],
  ['of blank lines', '\n\n', 0],
])('an import %s', async (_, text, importedCount) => {
  const path = await create();
  expect(await send(`${path}/import`, text)).toMatchObject({
    status: 200,
    body: { importedCount, vectorCount: importedCount },
  });
});

describe('an invalid line', () => {
  const good = (count: number) => linesOf(RECORDS.slice(0, count));
  test.each<[string, string, RegExp]>([
    ['is not JSON', '{"id":"x"', /^line 2\d03 is not valid JSON/],
    ['holds two records', '{"id":"x","values":[1,2,3]},{"id":"y","values":[1,2,3]}', /^line 2\d03 is not valid JSON/],
    ['closes what it did not open', '1],"lines":[{"id":"x","values":[1,2,3]}', /^line 2\d03 is not valid JSON/],
    ['has another key', '{"id":"x","values":[1,2,3],"vaules":[1]}', /^line 2\d03\.vaules is not a field/],
    ['has no id', '{"values":[1,2,3]}', /^line 2\d03\.id must be/],
    ['has another length', '{"id":"x","values":[1,2]}', /line 2\d03\.values/],
    ['has no number', '{"id":"x","values":[1,2,"3"]}', /^line 2\d03\.values\[2\] must be/],
    ['has a bad namespace', '{"id":"x","values":[1,2,3],"namespace":"a\\u0000"}', /^line 2\d03\.namespace must be/],
    ['begins an id with U+0000', '{"id":"\\u0000a","values":[1,2,3]}', /^line 2\d03\.id must be/],
    ['is a list', '[1]', /^line 2\d03 must be/],
    ['is null', 'null', /^line 2\d03 must be/],
    ['has a forbidden key', '{"id":"x","values":[1,2,3],"__proto__":{}}', /^line 2\d03 has a "__proto__" key/],
    ['has a name twice', '{"id":"x","values":[1,2,3],"metadata":{"a":1,"a":2}}', /^line 2\d03 has metadata\.a twice/],
    ['begins an export', '{"export":{}}', /^line 2\d03 must be a record, but is the head of an export/],
    ['has a field like an end', '{"id":"x","values":[1,2,3],"end":5}', /^line 2\d03\.end is not a field/],
    ['has a field like a head', '{"id":"x","values":[1,2,3],"export":{}}', /^line 2\d03\.export is not a field/],
    ['is half an end', '{"end":{"count":1}}', /^line 2\d03\.end is not a field/],
    ['is an end and more', `{"end":{"count":1,"merkleRoot":"${ROOT}"},"id":"x"}`, /^line 2\d03\.end is not a field/],
    ['is a head of nothing', '{"export":null}', /^line 2\d03\.export is not a field/],
    ['is longer than any record', `{"id":"${'x'.repeat(3_000_000)}"}`, /^line 2\d03 must be at most/],
  ])('%s: the import ends there, names the line, and counts what was stored', async (_, bad, message) => {
    const path = await create();
    const lines = [...good(2_302), bad, ...linesOf(RECORDS.slice(2_302))];
    const { status, body } = await send(`${path}/import`, lines.join('\n'));
    expect([status, body.error]).toEqual([400, expect.stringMatching(message)]);
    expect(body.error).toMatch(/ 2,000 records were stored before\.$/);
    expect(await count(path)).toMatchObject({ vector_count: 2_000 });
    expect(await service.api('GET', `${path}/verify`)).toMatchObject({ status: 200 });
  });

  test('in the first entry: nothing is stored, and the message mentions no stored records', async () => {
    const path = await create();
    const { status, body } = await send(`${path}/import`, [...good(3), '{}'].join('\n'));
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(body.error).toMatch(/^line 4/);
    expect(body.error).not.toMatch(/stored/);
    expect(await count(path)).toMatchObject({ vector_count: 0 });
  });
});

test.each(['end', 'export'])('a record with a field %s is refused even if it is the only one', async (field) => {
  const path = await create();
  for (const value of [5, {}, { count: 1, merkleRoot: ROOT }]) {
    const { status, body } = await send(
      `${path}/import`,
      JSON.stringify({ id: 'a', values: [1, 2, 3], [field]: value }),
    );
    expect([status, body.error]).toEqual([400, expect.stringMatching(`^line 1.${field} is not a field`)]);
  }
});

test('reports an export with fewer or more records than its last line says', async () => {
  const from = await create();
  await send(`${from}/import`, linesOf(RECORDS.slice(0, 1_200)).join('\n'));
  const lines = (await service.api<string>('GET', `${from}/export`)).body.trimEnd().split('\n');
  for (const [wrong, records] of [
    [lines.toSpliced(600, 1), '1199'],
    [lines.toSpliced(600, 0, linesOf([{ id: 'more', values: [1, 2, 3] }])[0]), '1201'],
  ] as const) {
    const to = await create();
    const { status, body } = await send(`${to}/import`, wrong.join('\n'));
    const message = `line ${wrong.length}.end.count must be ${records}, the number of records, but is 1200.`;
    expect([status, body.error]).toEqual([400, `${message} 999 records were stored before.`]);
    expect(await count(to)).toMatchObject({ vector_count: 999 });
  }
  // Records taken from an export, with and without its last line.
  for (const picked of [lines.slice(1, 10), [...lines.slice(1, 10), lines.at(-1)!]])
    expect(await send(`${await create()}/import`, picked.join('\n'))).toMatchObject({
      status: 200,
      body: { importedCount: 9 },
    });
});

test.each([
  ['dimensions', 'euclidean', 4, 'DIMENSION_MISMATCH', "4, the collection's own, but is 3."],
  [
    'metric',
    'cosine',
    3,
    'INVALID_ARGUMENT',
    "cosine, the collection's own, but is euclidean; without this line its records go in all the same.",
  ],
])(
  'refuses an export of other %s at its first line, before any record is written',
  async (field, metric, dimensions, code, told) => {
    const make = async (shape: object) => {
      const name = `imported-${made++}`;
      await service.api('POST', '/collections', { name, ...shape });
      return `/collections/${name}`;
    };
    const from = await make({ dimensions: 3, metric: 'euclidean' });
    await send(`${from}/import`, linesOf(RECORDS.slice(0, 1_200)).join('\n'));
    const exported = (await service.api<string>('GET', `${from}/export`)).body;
    const to = await make({ dimensions, metric });
    const { status, body } = await send(`${to}/import`, exported);
    expect([status, body.code, body.error]).toEqual([400, code, `line 1.export.${field} must be ${told}`]);
    expect(body.details).toMatchObject([{ path: `line 1.export.${field}` }]);
    expect(await count(to)).toMatchObject({ vector_count: 0 });
    const [head, ...others] = exported.split('\n');
    const altered = head!.replace('"euclidean"', '["euclidean"]').replace('"dimensions":3', '"dimensions":"3"');
    expect(await send(`${from}/import`, [altered, ...others].join('\n'))).toMatchObject({ status: 400 });
    expect(await send(`${to}/import`, others.join('\n'))).toMatchObject({ status: field === 'metric' ? 200 : 400 });
  },
);

test('stores what there is of a truncated export, then reports it', async () => {
  const from = await create();
  await send(`${from}/import`, linesOf(RECORDS.slice(0, 1_200)).join('\n'));
  const lines = (await service.api<string>('GET', `${from}/export`)).body.trimEnd().split('\n');
  const to = await create();
  const { status, body } = await send(`${to}/import`, lines.slice(0, -1).join('\n'));
  expect([status, body.error]).toEqual([
    400,
    'body must be a complete export with its last line, but is one without it. 1,200 records were stored before.',
  ]);
  expect(await count(to)).toMatchObject({ vector_count: 1_200 });
  const behind = await send(`${to}/import`, [...lines, lines[1]].join('\n'));
  expect([behind.status, behind.body.error]).toEqual([400, expect.stringMatching(/a line after the end of an export/)]);
});

test("a body may be larger than any other, and is written in entries of an upsert's size", async () => {
  const strict = await shareService('strict');
  expect(await strict.api('POST', '/collections', { name: 'large', dimensions: 1 })).toMatchObject({ status: 201 });
  const records = Array.from({ length: 40 }, (_, at) => ({
    id: `${at}`,
    values: [1],
    metadata: { text: 'x'.repeat(20) },
  }));
  const text = linesOf(records).join(`\n${' '.repeat(100)}`);
  expect(text.length).toBeGreaterThan(4_000);
  const answer = await send('/collections/large/import', text, undefined, strict);
  expect(answer).toMatchObject({ status: 200, body: { importedCount: 40, merkleRoot: rootOfRecords(records) } });
});

test('limits a line to 2 MiB, and an object in it or in another body to 32,768 keys', async () => {
  const path = await create();
  const longOne = (bytes: number) => `{"id":"a",${' '.repeat(bytes - 29)}"values":[1,2,3]}`.padEnd(bytes);
  const atMost = INTERNAL_LIMITS.importLineMaxBytes;
  expect(await send(`${path}/import`, `${longOne(atMost)}\n`)).toMatchObject({ status: 200 });
  expect(await send(`${path}/import`, longOne(atMost + 1))).toMatchObject({
    status: 400,
    body: { error: `line 1 must be at most ${atMost} bytes long, but is longer.` },
  });
  const recordOf = (keys: number) => {
    const metadata = Object.fromEntries(Array.from({ length: keys }, (_, at) => [`${at}`, 0]));
    return { id: 'a', values: [1, 2, 3], metadata };
  };
  // This many keys exceed the size limit of metadata, but can still be parsed.
  for (const [keys, told] of [
    [INTERNAL_LIMITS.jsonObjectMaxKeys, /metadata must be at most 40960 bytes/],
    [INTERNAL_LIMITS.jsonObjectMaxKeys + 1, /at most 32,768 keys in each object/],
  ] as const) {
    const { body } = await service.api('POST', `${path}/upsert`, { records: [recordOf(keys)] });
    expect(body).toMatchObject({ status: 400, error: expect.stringMatching(told) });
    const imported = await send(`${path}/import`, JSON.stringify(recordOf(keys)));
    expect(imported).toMatchObject({ status: 400, body: { error: expect.stringMatching(told) } });
  }
});

test("an entry over the plan's limit ends an import: nothing after it is stored", async () => {
  const metered = await shareService('metered');
  const { api, key } = await createTenant(metered, 'free', 'importer');
  await api('POST', '/collections', { name: 'c', dimensions: 3 });
  const own = { ...metered, key: key.secret };
  expect(await send('/collections/c/import', linesOf(RECORDS.slice(0, 100)).join('\n'), undefined, own)).toMatchObject({
    status: 200,
  });
  // One entry of 1,000 records does not fit; one of 40 would.
  const rest = linesOf(RECORDS.slice(100, 1_140)).join('\n');
  const { status, body } = await send('/collections/c/import', rest, undefined, own);
  expect([status, body.code]).toEqual([429, 'PLAN_LIMIT_REACHED']);
  expect(body.error).not.toMatch(/were stored/);
  const { body: after } = await api('GET', '/collections/c');
  expect((after as never as CollectionBody).collection.vector_count).toBe(100);
});

test('refuses other media types, other methods and unknown collections', async () => {
  const path = await create();
  expect(await send(`${path}/import`, '{}', 'text/csv')).toMatchObject({ status: 415 });
  expect(await send('/collections/nobody/import', '{}')).toMatchObject({ status: 404 });
  expect(await send(`${path}/import?a=1`, '{}')).toMatchObject({ status: 400 });
  expect(await service.api('GET', `${path}/import`)).toMatchObject({ status: 405 });
});

test('a client that disconnects keeps what was stored, and the service keeps working', async () => {
  const path = await create();
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const text = `${linesOf(RECORDS).join('\n')}\n`;
  const head = `POST /api/v1${path}/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\nContent-Type: application/x-ndjson\r\nContent-Length: ${2 * Buffer.byteLength(text)}\r\n\r\n`;
  socket.write(head);
  socket.write(text);
  await until('the first entry is stored', async () => (await count(path)).vector_count >= 1_000);
  socket.destroy();
  await until('the request has ended', async () => (await count(path)).vector_count % 1_000 === 0);
  expect(await send(`${path}/import`, linesOf(RECORDS).join('\n'))).toMatchObject({
    status: 200,
    body: { importedCount: RECORDS.length, merkleRoot: rootOfRecords(RECORDS) },
  });
});
