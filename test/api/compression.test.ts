/** Compressed answers and bodies, as clients send and read them. */
import { request } from 'node:http';
import {
  brotliDecompressSync,
  constants,
  deflateSync,
  gunzipSync,
  gzipSync,
  zstdCompressSync,
  zstdDecompressSync,
} from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { Provec } from '../../client/index.ts';
import { type RawAnswer, rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { until } from '../support/until.ts';

const RECORDS = Array.from({ length: 3_000 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at / 7, -0.5],
  metadata: { text: `A text about 🧭 ${at}` },
}));
const NDJSON = RECORDS.map((record) => `${JSON.stringify(record)}\n`).join('');
const PATH = '/api/v1/collections/docs';
const LIST = JSON.stringify({ limit: 1_000, includeMetadata: true });
/** More than are compressed at a time. */
const MANY = 100;

const CODINGS = {
  gzip: { encode: (text: string | Buffer) => gzipSync(text), decode: gunzipSync },
  zstd: {
    encode: (text: string | Buffer) => zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } }),
    decode: zstdDecompressSync,
  },
} as const;
const NAMES = ['gzip', 'zstd'] as const;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'docs', dimensions: 3 });
  const { status } = await send('import', gzipSync(NDJSON), 'gzip', 'application/x-ndjson');
  expect(status).toBe(200);
});

const authorized = () => ({ authorization: `Bearer ${service.key}` });
const accepting = (coding: string) => ({ ...authorized(), ...(coding !== '' && { 'accept-encoding': coding }) });
const get = (path: string, accepted: string, method = 'GET'): Promise<RawAnswer> =>
  rawRequest(service.url, method, path, accepting(accepted));
/** Returns a page of 1,000 records. */
const list = (accepted: string): Promise<RawAnswer> =>
  rawRequest(service.url, 'POST', `${PATH}/list`, { ...accepting(accepted), 'content-type': 'application/json' }, LIST);

function send(
  operation: string,
  body: Uint8Array,
  coding: string,
  type = 'application/json',
  more: Record<string, string> = {},
): Promise<RawAnswer> {
  const headers = { ...authorized(), 'content-type': type, 'content-encoding': coding, ...more };
  return rawRequest(service.url, 'POST', `${PATH}/${operation}`, headers, body);
}

describe.each(NAMES)('a client that accepts %s', (coding) => {
  const { decode } = CODINGS[coding];

  test.each<[string, (accepted: string) => Promise<RawAnswer>]>([
    ['a page of records', list],
    ['an export', (accepted) => get(`${PATH}/export`, accepted)],
  ])('gets %s compressed', async (_, ask) => {
    const [plain, coded] = await Promise.all([ask(''), ask(coding)]);
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect(coded.headers).toMatchObject({
      'content-encoding': coding,
      vary: expect.stringContaining('Accept-Encoding'),
    });
    expect(decode(coded.bytes).toString()).toBe(plain.text);
    expect(coded.bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 2);
  });

  test('gets an answer of less than 1 KB, and that of HEAD, as they are', async () => {
    const small = await get(PATH, coding);
    expect([small.status, small.headers['content-encoding'], small.headers['content-length']]).toEqual([
      200,
      undefined,
      `${small.bytes.byteLength}`,
    ]);
    const head = await get(`${PATH}/export`, coding, 'HEAD');
    expect([head.status, head.headers['content-encoding'], head.bytes.byteLength]).toEqual([200, undefined, 0]);
  });

  test('gets right answers to more requests than are compressed at a time', async () => {
    const plain = await list('');
    const answers = await Promise.all(Array.from({ length: MANY }, () => list(coding)));
    for (const { bytes, headers } of answers) {
      const content = headers['content-encoding'] === coding ? decode(bytes) : bytes;
      expect(content.equals(plain.bytes)).toBe(true);
    }
    expect((await list(coding)).headers['content-encoding']).toBe(coding);
  });
});

test.each(['', 'identity', 'br', 'gzip;q=0', 'zstd;q=0.0, gzip;q=0', 'x-gzip', '*'])(
  'a client that accepts "%s" gets answers as they are',
  async (accepted) => {
    const { headers, text } = await list(accepted);
    expect([headers['content-encoding'], JSON.parse(text).records.length]).toEqual([undefined, 1_000]);
  },
);

test('the OpenAPI document is compressed once for all', async () => {
  const plain = await get('/openapi.json', '');
  const coded = await get('/openapi.json', 'gzip, br');
  expect(coded.headers['content-encoding']).toBe('br');
  expect(brotliDecompressSync(coded.bytes).equals(plain.bytes)).toBe(true);
});

test('clients that leave, or read nothing, give their place to others', async () => {
  const { hostname, port } = new URL(service.url);
  const headers = { ...authorized(), 'accept-encoding': 'gzip' };
  const leaving = Array.from({ length: MANY }, () =>
    request({ hostname, port, path: `${PATH}/export`, headers, agent: false }),
  );
  const heads = leaving.map(
    (sent) =>
      new Promise<string | undefined>((resolve, reject) => {
        sent.on('error', reject).on('response', (response) => {
          response.pause().on('error', () => undefined);
          resolve(response.headers['content-encoding']);
        });
        sent.end();
      }),
  );
  expect(new Set(await Promise.all(heads))).toContain('gzip');
  for (const sent of leaving) sent.destroy();
  await until('a place is free', async () => (await list('gzip')).headers['content-encoding'] === 'gzip');
});

describe.each(NAMES)('a body in %s', (coding) => {
  const { encode } = CODINGS[coding];
  const refused = { code: 'INVALID_ARGUMENT', details: [expect.objectContaining({ path: 'body' })] };

  test('is read like any other', async () => {
    const { status, text } = await send('query', encode('{"vector":[1,0,0],"topK":2}'), coding.toUpperCase());
    expect([status, JSON.parse(text).matches.length]).toEqual([200, 2]);
  });

  test('is imported as it arrives', async () => {
    const parts = [NDJSON.slice(0, 7_777), NDJSON.slice(7_777)];
    const { status, text } = await send('import', Buffer.concat(parts.map(encode)), coding, 'application/x-ndjson');
    expect([status, JSON.parse(text).importedCount]).toEqual([200, RECORDS.length]);
  });

  test.each([
    ['is cut short', (body: Buffer) => body.subarray(0, -3)],
    ['is empty', () => Buffer.alloc(0)],
    ['has more behind it', (body: Buffer) => Buffer.concat([body, Buffer.from('{"ids":["a"]}')])],
    ['is in another coding', (body: Buffer) => deflateSync(body)],
    ['is not compressed', () => Buffer.from('{"ids":["a"]}')],
    ['has a changed byte', (body: Buffer) => body.map((byte, at) => (at === body.length >> 1 ? byte ^ 0xff : byte))],
  ])('is refused if it %s', async (_, change) => {
    const body = change(encode(JSON.stringify({ ids: RECORDS.slice(0, 900).map(({ id }) => id) })));
    const { status, text } = await send('fetch', body, coding, 'application/json', { 'transfer-encoding': 'chunked' });
    expect(status).toBe(400);
    expect(JSON.parse(text)).toMatchObject(refused);
  });

  test.each([
    ['fetch', 'application/json'],
    ['import', 'application/x-ndjson'],
  ])('is refused if it expands to more than a hundred times its size: %s', async (operation, type) => {
    const before = await get(PATH, '');
    const { status, text } = await send(operation, encode(Buffer.alloc(32 * 1024 * 1024, '\n')), coding, type);
    expect([status, JSON.parse(text).code]).toEqual([413, 'BODY_TOO_LARGE']);
    expect(JSON.parse(text).error).toContain('expands to more than 100 times');
    expect((await get(PATH, '')).text).toBe(before.text);
  });

  test('is refused above the limit on bodies, compressed or not', async () => {
    const noise = Buffer.alloc(65 * 1024 * 1024);
    for (let at = 0; at < noise.length; at += 4) noise.writeUInt32LE(Math.imul(at, 2_654_435_761) >>> 0, at);
    const { status, text } = await send('fetch', encode(noise), coding);
    expect([status, JSON.parse(text).code]).toEqual([413, 'BODY_TOO_LARGE']);
  });
});

test('a zstd body that wants a larger window than 8 MiB is refused', async () => {
  const params = { [constants.ZSTD_c_windowLog]: 27, [constants.ZSTD_c_contentSizeFlag]: 0 };
  const body = zstdCompressSync(JSON.stringify({ ids: ['a'] }), { params });
  const { status } = await send('fetch', body, 'zstd');
  // Small contents get a small window, whatever the setting.
  expect(status).toBe(200);
  const wide = Buffer.from(zstdCompressSync(Buffer.alloc(4_096, '{"ids":["a"]} '), { params }));
  expect(wide.readUInt32LE(0)).toBe(0xfd2fb528);
  // A frame header without a single segment and with a window of 2^27 bytes.
  const frame = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (27 - 10) << 3]), wide.subarray(6)]);
  expect((await send('fetch', frame, 'zstd')).status).toBe(400);
});

test.each(['br', 'deflate', 'gzip, gzip', 'x'])('a body in %s is refused', async (coding) => {
  const { status, text } = await send('fetch', gzipSync('{"ids":["a"]}'), coding);
  expect([status, JSON.parse(text).code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  expect(JSON.parse(text).error).toContain('gzip');
});

test.each([
  [undefined, 'identity', null],
  [false, 'identity', null],
  [true, 'gzip', 'gzip'],
])('the client with compress: %p accepts %s', async (compress, accepted, coding) => {
  const seen: [string | null, string | null][] = [];
  const watched: typeof fetch = async (url, init) => {
    const response = await fetch(url, init);
    seen.push([new Headers(init?.headers).get('accept-encoding'), response.headers.get('content-encoding')]);
    return response;
  };
  const provec = new Provec({ url: service.url, apiKey: service.key, compress, fetch: watched });
  const listed = await provec.collection('docs').list({ limit: 1_000 }).all();
  expect([listed.length, seen]).toEqual([RECORDS.length, Array(3).fill([accepted, coding])]);
});
