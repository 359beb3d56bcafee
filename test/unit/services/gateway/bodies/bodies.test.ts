import { once } from 'node:events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { expectDurationBelow } from '../../../../support/duration.ts';
import { LoopWatch } from '../../../../support/loop-watch.ts';
import { RawConnection } from '../../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge } from '../harness.ts';

const V1 = '/api/v1';
const LOOP_HELD_MAX_MS = 200;

type Batch = { ids: string[]; vectors: Float32Array; metadata: string[]; dimensions: number };

let edge: Edge;
beforeAll(async () => {
  edge = await startEdge({
    actions: {
      'collections.fetch': ({ body }) =>
        (body as { ids: string[] }).ids.map((id) => ({
          id,
          values: new Float32Array([0.1, -2, 3e-8]),
          metadata: '{"a":{"b":[null]}}',
        })),
    },
  });
});
afterAll(() => edge.stop());
beforeEach(() => edge.calls.clear());

const upsert = (body: unknown, name = 'docs') => edge.request('POST', `${V1}/collections/${name}/upsert`, body);
const lastBatch = () => (edge.calls.get('collections.upsert')!.at(-1)!.body as { records: Batch }).records;

describe('valid bodies', () => {
  test.each([
    ['a __proto__ key', '{"__proto__":{"admin":true},"records":[]}'],
    ['a __proto__ key in escapes', '{"\\u005f_proto__":{"admin":true},"records":[]}'],
    ['a __proto__ key far inside', '{"records":[{"id":"a","values":[1,2,3],"metadata":{"x":[{"__proto__":1}]}}]}'],
    ['65 levels', `{"records":${'['.repeat(64)}${']'.repeat(64)}}`],
    ['10,000 levels', `{"records":${'['.repeat(10_000)}${']'.repeat(10_000)}}`],
    ['10,000 levels unclosed', '{"records":'.repeat(10_000)],
    ['NaN', '{"records":[{"id":"a","values":[NaN,1,1]}]}'],
    ['a trailing comma', '{"records":[],}'],
    ['two values', '{} {}'],
    ['a string', '"records"'],
    ['nothing but blanks', '  \n'],
  ])('%s is INVALID_JSON', async (_, body) => {
    const reply = await upsert(body);
    expect([reply.status, reply.json.code]).toEqual([400, 'INVALID_JSON']);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test('bytes that are not UTF-8 are INVALID_JSON', async () => {
    const body = Buffer.concat([Buffer.from('{"records":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    expect((await upsert(body)).json.code).toBe('INVALID_JSON');
  });

  test('accepts 64 levels; brackets and quotes in strings do not count', async () => {
    const metadata = { deep: '[[[[{{{{"\\'.repeat(100) };
    expect((await upsert({ records: [{ id: 'a', values: [1, 2, 3], metadata }] })).status).toBe(200);
    expect(JSON.parse(lastBatch().metadata[0]!)).toEqual(metadata);
    const levels = await upsert(`{"records":${'['.repeat(63)}${']'.repeat(63)}}`);
    expect(levels.json.code).toBe('INVALID_ARGUMENT');
  });

  test('a byte order mark is skipped', async () => {
    const reply = await upsert('\ufeff{"records":[{"id":"y","values":[1,2,3]}]}');
    expect(reply.status).toBe(200);
    expect(lastBatch().ids).toEqual(['y']);
  });

  test.each([['"\\ud800"'], ['"a\\udc00"'], ['""'], ['7'], ['null'], ['{"$ne":1}']])(
    'the id %s is refused',
    async (id) => {
      const reply = await upsert(`{"records":[{"id":${id},"values":[1,2,3]}]}`);
      expect(reply.json).toMatchObject({ code: 'INVALID_ARGUMENT', details: [{ path: 'records[0].id' }] });
    },
  );

  test('lone surrogates in metadata are refused, in values and keys', async () => {
    for (const metadata of ['{"a":"\\ud800"}', '{"\\udfff":1}', '{"a":[{"b":"x\\ud800y"}]}']) {
      const reply = await upsert(`{"records":[{"id":"a","values":[1,2,3],"metadata":${metadata}}]}`);
      expect(reply.json.code).toBe('INVALID_ARGUMENT');
      expect(JSON.stringify(reply.json.details)).toContain('records[0].metadata');
    }
  });

  test('any id is only a value: upsert, fetch and answer', async () => {
    const ids = ['__proto__', 'constructor', 'toString', '../x', '..\\x', '/', '%2e', 'a\u0000', '👩‍🚀"\\'];
    expect((await upsert({ records: ids.map((id) => ({ id, values: [1, 2, 3] })) })).status).toBe(200);
    expect(lastBatch().ids).toEqual(ids);
    const reply = await edge.request('POST', `${V1}/collections/docs/fetch`, { ids });
    expect(reply.status).toBe(200);
    const vectors = reply.json.vectors as Record<string, unknown>;
    expect(Object.keys(vectors).sort()).toEqual([...ids].sort());
    expect(Object.getPrototypeOf(vectors)).toBe(Object.prototype);
    for (const id of ids) {
      expect(Object.getOwnPropertyDescriptor(vectors, id)!.value).toEqual({
        id,
        values: [0.1, -2, 3e-8],
        metadata: { a: { b: [null] } },
      });
    }
  });

  test('a body without a media type is read as JSON', async () => {
    const raw = new RawConnection(edge.port);
    const body = '{"ids":["a"]}';
    raw.write(
      `POST ${V1}/collections/docs/delete HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
    expect(await raw.end()).toMatch(/^HTTP\/1.1 200 OK/);
  });
});

describe('large bodies', () => {
  /** An upsert of 1,000 records with 8,192 dimensions, with about 7.7 characters per number. */
  function largeUpsert(): string {
    const values = Array.from({ length: 8_192 }, (_, i) => (1 / (i + 3)).toFixed(i % 20 === 0 ? 8 : 5));
    const records = Array.from(
      { length: 1_000 },
      (_, i) => `{"id":"r${i}","values":[${values}],"metadata":{"i":${i}}}`,
    );
    return `{"records":[${records}]}`;
  }

  /** Runs `work` and returns the longest time, in ms, that it blocked the event loop. */
  async function loopHeld(work: () => Promise<void>): Promise<number> {
    const watch = new LoopWatch();
    await work();
    return watch.end();
  }

  async function raw(body: Buffer, head: string): Promise<string> {
    const connection = new RawConnection(edge.port);
    connection.write(
      `POST ${V1}/collections/wide/upsert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n${head}\r\n\r\n`,
    );
    const slices = Math.ceil(body.length / 262_144);
    for (let i = 0; i < slices && !connection.ended; i++) {
      const flowing = connection.socket.write(body.subarray(i * 262_144, (i + 1) * 262_144));
      if (!flowing && !connection.ended) {
        const waited = new AbortController();
        const { signal } = waited;
        await Promise.race([
          once(connection.socket, 'drain', { signal }),
          once(connection.socket, 'close', { signal }),
        ]);
        waited.abort();
      }
    }
    const received = connection.ended
      ? connection.received
      : await connection.until((text) => text.includes('\r\n\r\n'));
    connection.destroy();
    return received;
  }

  test('accepts an upsert of nearly 64 MiB without blocking the event loop', async () => {
    const body = Buffer.from(largeUpsert());
    expect(body.length).toBeGreaterThan(55 * 1024 * 1024);
    expect(body.length).toBeLessThan(64 * 1024 * 1024);
    // The best of several attempts, because other processes slow this one down.
    let held = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < 3 && held >= LOOP_HELD_MAX_MS; attempt++) {
      let reply = '';
      const most = await loopHeld(async () => {
        reply = await raw(body, `Content-Length: ${body.length}`);
      });
      expect(reply).toContain('{"upsertedCount":1000}');
      held = Math.min(held, most);
    }
    const batch = lastBatch();
    expect(batch.vectors).toHaveLength(1_000 * 8_192);
    expect(batch.ids[999]).toBe('r999');
    expect(batch.metadata[999]).toBe('{"i":999}');
    expectDurationBelow(held, LOOP_HELD_MAX_MS);
  });

  test('refuses megabytes of brackets, of empty objects and of metadata, and accepts the next body', async () => {
    const size = 12 * 1024 * 1024;
    for (const body of [
      Buffer.alloc(size, '['),
      Buffer.from(`{"records":[${'{},'.repeat(size / 3)}{}]}`),
      Buffer.from(`{"records":[{"id":"a","values":[],"metadata":{"a":[${'1,'.repeat(size / 2)}1]}}]}`),
    ]) {
      const reply = await raw(body, `Content-Length: ${body.length}`);
      expect(reply).toMatch(/^HTTP\/1.1 4(00|13) /);
    }
    expect((await upsert({ records: [{ id: 'a', values: [1, 2, 3] }] })).status).toBe(200);
  });

  test('refuses a large filter where it is parsed', async () => {
    const filter = { a: { $in: Array.from({ length: 60_000 }, (_, i) => `value ${i}`) } };
    const reply = await edge.request('POST', `${V1}/collections/docs/query`, { vector: [1, 2, 3], filter });
    expect([reply.status, reply.json.code]).toEqual([400, 'INVALID_FILTER']);
  });

  test('errors of large bodies are those of small ones', async () => {
    const pad = ' '.repeat(300_000);
    const cases: [string, string][] = [
      [`{"records":[]${pad}`, 'INVALID_JSON'],
      [`{"records":[{"id":"a","values":[1,2]}]${pad}}`, 'DIMENSION_MISMATCH'],
      [`{"record":[]${pad}}`, 'INVALID_ARGUMENT'],
      [`{"__proto__":[]${pad}}`, 'INVALID_JSON'],
    ];
    for (const [body, code] of cases) expect((await upsert(body)).json.code).toBe(code);
    const ok = await upsert(`{"records":[{"id":"a","values":[1,2,3]},{"id":"a","values":[4,5,6]}]${pad}}`);
    expect(ok.json).toEqual({ upsertedCount: 1 });
    expect([...lastBatch().vectors]).toEqual([4, 5, 6]);
  });

  test('an announced 100 MB gets 413 before a byte of it is sent, and the connection is closed', async () => {
    const connection = new RawConnection(edge.port);
    connection.write(
      `POST ${V1}/collections/docs/upsert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Length: 104857600\r\n\r\n{"records":`,
    );
    const received = await connection.end();
    expect(received).toMatch(/^HTTP\/1.1 413 /);
    expect(received).toMatch(/Connection: close/i);
    expect(received).toContain('"code":"BODY_TOO_LARGE"');
  });

  test('a client that sends all of 100 MB at once still reads its 413', async () => {
    const reply = await edge.request('POST', `${V1}/collections/docs/upsert`, new Uint8Array(100 * 1024 * 1024));
    expect(reply.json).toMatchObject({ code: 'BODY_TOO_LARGE', status: 413 });
  });

  test('a client that reads only after sending its whole import reads what is wrong with a line', async () => {
    const line = `{"id":"a","values":[1,2,3]}\n`;
    const body = `${line.repeat(2)}{}\n${line.repeat((20 * 1024 * 1024) / line.length)}`;
    const connection = new RawConnection(edge.port);
    connection.socket.pause();
    const head = `POST ${V1}/collections/docs/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n`;
    connection.write(`${head}Content-Length: ${body.length}\r\n\r\n`);
    await new Promise<void>((resolve) => connection.socket.write(body, () => resolve()));
    connection.socket.resume();
    expect(await connection.end()).toMatch(/^HTTP\/1.1 400 .*"error":"line 3\.id must be/s);
  });

  test('a chunked body gets 413 when it passes the limit', async () => {
    const small = await startEdge({ env: { PROVEC_LIMITS: '{"bodyMaxBytes": 100000}' } });
    try {
      const connection = new RawConnection(small.port);
      connection.write(
        `POST ${V1}/collections/docs/upsert HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n\r\n`,
      );
      const chunk = `${(20_000).toString(16)}\r\n${' '.repeat(20_000)}\r\n`;
      for (let i = 0; i < 6; i++) connection.write(chunk);
      expect(await connection.end()).toMatch(/^HTTP\/1.1 413 [\s\S]*BODY_TOO_LARGE/);
    } finally {
      await small.stop();
    }
  });

  test('a large body of fields is read, and its field refused', async () => {
    const reply = await edge.request('POST', `${V1}/keys`, { name: 'x'.repeat(300_000) });
    expect(reply.json).toMatchObject({ code: 'INVALID_ARGUMENT', details: [{ path: 'name' }] });
  });

  test('Expect: 100-continue: a refused body is never requested, an accepted one is', async () => {
    const head = (path: string, length: number) =>
      `POST ${V1}${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nExpect: 100-continue\r\nContent-Length: ${length}\r\n\r\n`;
    const refused = new RawConnection(edge.port);
    refused.write(head('/collections/none/upsert', 20));
    const answer = await refused.end();
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
    const body = '{"ids":["a"]}';
    const welcome = new RawConnection(edge.port);
    welcome.write(head('/collections/docs/delete', body.length));
    await welcome.until((text) => text.startsWith('HTTP/1.1 100 Continue'));
    welcome.write(body);
    await welcome.until((text) => text.includes('"deletedCount":1'));
    welcome.destroy();
  });
});

test.each([1, 8])(
  '%i large answers at once are produced in slices, with other requests in between',
  async (answers) => {
    const values = new Float32Array(384).map((_, i) => 1 / (i + 3));
    const rows = Array.from({ length: 100 }, (_, i) => ({ id: `r${i}`, score: 0.5, metadata: '{}', values }));
    let inThisTurn = 0;
    let mostInOneTurn = 0;
    // Every row takes 2 ms, so a whole response would block the event loop for 200 ms.
    const costly = Object.assign([], {
      *[Symbol.iterator]() {
        for (const row of rows) {
          for (const until = performance.now() + 2; performance.now() < until; );
          mostInOneTurn = Math.max(mostInOneTurn, ++inThisTurn);
          yield row;
        }
      },
    });
    const many = await startEdge({ actions: { 'collections.query': () => ({ matches: costly }) } });
    let counting = true;
    const turn = () => {
      inThisTurn = 0;
      if (counting) setImmediate(turn);
    };
    setImmediate(turn);
    try {
      const query = { vector: [1, 2, 3], topK: 100, includeValues: true };
      const send = () => many.request('POST', `${V1}/collections/docs/query`, query);
      for (const { json } of await Promise.all(Array.from({ length: answers }, send))) {
        const matches = json.matches as { id: string; values: number[] }[];
        expect(matches).toHaveLength(100);
        expect(matches[99]!.id).toBe('r99');
        expect(matches[99]!.values.map(Math.fround)).toEqual([...values]);
      }
      expect(mostInOneTurn).toBeLessThan(24);
    } finally {
      counting = false;
      await many.stop();
    }
  },
);
