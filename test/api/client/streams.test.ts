import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { ExportFrame } from '../../../client/export-frame.ts';
import { APIConnectionError, type Collection, Provec, ServerError, verifyExport } from '../../../client/index.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { until } from '../../support/until.ts';

const COUNT = 5_000;
/** More records than any test reads. */
const ENDLESS = 2_000_000;
/** An export without its last line. */
const BEGUN = [
  {
    export: {
      collectionId: '11111111-2222-4333-8444-555555555555',
      name: 'notes',
      dimensions: 1,
      metric: 'cosine',
      version: 1,
      merkleRoot: '0'.repeat(64),
      vectorCount: 1,
    },
  },
  { id: 'a', values: [1] },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');
const recordOf = (at: number) => ({ id: `r${at}`, values: Float32Array.of(1, at), metadata: { at } });

let service: SharedService;
let provec: Provec;
let full: Collection;
beforeAll(async () => {
  service = await shareService('plain');
  provec = new Provec({ url: service.url, apiKey: service.key });
  full = await emptyCollection('full');
});
let cutter: Server | undefined;
afterEach(() => {
  cutter?.closeAllConnections();
  cutter?.close();
});

async function emptyCollection(name: string): Promise<Collection> {
  await provec.createCollection({ name, dimensions: 2, shards: 2 });
  return provec.collection(name);
}

/** Counts the records read from the source, and whether the source was closed. */
async function* counted(taken: { records: number; isClosed: boolean }, count = COUNT) {
  try {
    for (let at = 0; at < count; at++) {
      taken.records++;
      yield recordOf(at);
    }
  } finally {
    taken.isClosed = true;
  }
}

const ndjson = (count: number) =>
  Array.from({ length: count }, (_, at) => `${JSON.stringify({ id: `r${at}`, values: [1, at] })}\n`).join('');

test('imports records from an async iterable, and exports them as records, lines and bytes', async () => {
  const taken = { records: 0, isClosed: false };
  expect(await full.import(counted(taken))).toMatchObject({ importedCount: COUNT, vectorCount: COUNT });
  expect(taken).toEqual({ records: COUNT, isClosed: true });
  const numbers = new Set<unknown>();
  for await (const { metadata } of await full.export()) numbers.add(metadata?.at);
  expect(numbers.size).toBe(COUNT);
  const { merkleRoot } = await full.describe();
  const verified = await verifyExport((await full.export()).lines());
  expect(verified).toMatchObject({ merkleRoot, vectorCount: COUNT });
  const blob = await new Response((await full.export()).bytes()).blob();
  const bytes = await blob.bytes();
  const copies = {
    stream: (await full.export()).bytes(),
    blob,
    text: await blob.text(),
    bytes,
    node: Readable.from([bytes.subarray(0, 70_001), bytes.subarray(70_001)]),
  };
  for (const [name, source] of Object.entries(copies)) {
    expect(await (await emptyCollection(name)).import(source)).toMatchObject({ importedCount: COUNT, merkleRoot });
  }
});

test("a refused import rejects with the service's message and closes the source", async () => {
  const target = await emptyCollection('refused');
  const taken = { records: 0, isClosed: false };
  async function* faulty() {
    yield { id: 'first', values: [1, 2] };
    yield { id: 'wrong', values: [1] };
    yield* counted(taken, ENDLESS);
  }
  await expect(target.import(faulty())).rejects.toMatchObject({
    name: 'BadRequestError',
    code: 'DIMENSION_MISMATCH',
    message: expect.stringMatching(/line 2/i),
  });
  await until('the source is closed', () => taken.isClosed);
  expect(taken.records).toBeLessThan(ENDLESS);
});

test("an aborted import rejects with the signal's reason and closes the source", async () => {
  const target = await emptyCollection('aborted');
  const controller = new AbortController();
  const taken = { records: 0, isClosed: false };
  async function* watched() {
    for await (const record of counted(taken, ENDLESS)) {
      if (taken.records === 20_000) controller.abort(new Error('enough'));
      yield record;
    }
  }
  await expect(target.import(watched(), { signal: controller.signal })).rejects.toThrow('enough');
  await until('the source is closed', () => taken.isClosed);
});

test('reads a source no faster than the service accepts it', async () => {
  const stalled = createServer((request) => request.pause()).listen(0, '127.0.0.1');
  await once(stalled, 'listening');
  const url = `http://127.0.0.1:${(stalled.address() as AddressInfo).port}`;
  const taken = { records: 0, isClosed: false };
  const controller = new AbortController();
  const target = new Provec({ url, apiKey: 'k' }).collection('notes');
  const call = target.import(counted(taken, ENDLESS), { signal: controller.signal });
  let before = -1;
  await until('it reads no more', async () => {
    const isStill = taken.records > 0 && taken.records === before;
    before = taken.records;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return isStill;
  });
  // Only as many as sockets buffer, far from all.
  expect(taken.records).toBeLessThan(ENDLESS / 2);
  controller.abort(new Error('enough'));
  await expect(call).rejects.toThrow('enough');
  stalled.closeAllConnections();
  stalled.close();
});

test('refuses a stream that is already being read', async () => {
  const stream = new Blob([ndjson(1)]).stream();
  stream.getReader();
  await expect(full.import(stream)).rejects.toThrow(TypeError);
});

test('an import rejects with the error that its source throws', async () => {
  const target = await emptyCollection('thrown');
  async function* failing() {
    yield { id: 'first', values: [1, 2] };
    throw new RangeError('the source failed');
  }
  await expect(target.import(failing())).rejects.toThrow(new RangeError('the source failed'));
});

test('an export ends with its signal, with the loop that reads it, and when it is cancelled', async () => {
  const open: Socket[] = [];
  const endless = createServer((request, response) => {
    open.push(request.socket);
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(BEGUN);
  }).listen(0, '127.0.0.1');
  await once(endless, 'listening');
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;
  const notes = new Provec({ url, apiKey: 'k' }).collection('notes');
  const controller = new AbortController();
  const aborted = await notes.export({ signal: controller.signal });
  const read = async () => {
    for await (const _ of aborted) controller.abort(new TypeError('enough'));
  };
  await expect(read()).rejects.toThrow(new TypeError('enough'));
  for await (const { id } of await notes.export()) {
    expect(id).toBe('a');
    break;
  }
  await (await notes.export()).cancel();
  await until('all connections are closed', () => open.length === 3 && open.every(({ destroyed }) => destroyed));
  endless.close();
});

test.each(['with the connection', 'with an answer that looks whole'])(
  'an export cut off %s is rejected',
  async (how) => {
    cutter = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write(BEGUN, () => {
        if (how === 'with the connection') response.destroy();
        else response.end();
      });
    }).listen(0, '127.0.0.1');
    await once(cutter, 'listening');
    const url = `http://127.0.0.1:${(cutter.address() as AddressInfo).port}`;
    const cut = await new Provec({ url, apiKey: 'k' }).collection('notes').export();
    const ids: string[] = [];
    const read = async () => {
      for await (const { id } of cut) ids.push(id);
    };
    await expect(read()).rejects.toThrow(APIConnectionError);
    expect(ids.length).toBeLessThanOrEqual(1);
  },
);

const END = `${JSON.stringify({ end: { count: 1, merkleRoot: '0'.repeat(64) } })}\n`;
const NDJSON = 'application/x-ndjson; charset=utf-8';

/** Starts a server that answers everything with this. */
async function answering(status: number, type: string, text: string): Promise<Collection> {
  cutter = createServer((_, response) => response.writeHead(status, { 'content-type': type }).end(text));
  cutter.listen(0, '127.0.0.1');
  await once(cutter, 'listening');
  const url = `http://127.0.0.1:${(cutter.address() as AddressInfo).port}`;
  return new Provec({ url, apiKey: 'k', maxRetries: 0 }).collection('notes');
}

const READERS: Readonly<Record<string, (notes: Collection) => Promise<unknown>>> = {
  lines: async (notes) => {
    for await (const _ of (await notes.export()).lines());
  },
  bytes: async (notes) => new Response((await notes.export()).bytes()).text(),
  records: async (notes) => {
    for await (const _ of await notes.export());
  },
};

test.each(
  Object.keys(READERS).flatMap(
    (reader) =>
      [
        [reader, 'a page of another server', 200, 'text/html', '<html>\n', ServerError],
        [reader, 'an export of another type', 200, 'text/plain', BEGUN + END, ServerError],
        [reader, 'no content', 204, NDJSON, '', ServerError],
        [reader, 'an empty answer', 200, NDJSON, '', APIConnectionError],
        [reader, 'an empty object', 200, NDJSON, '{}\n', ServerError],
        [reader, 'no head', 200, NDJSON, `{"id":"a","values":[1]}\n${END}`, ServerError],
        [reader, 'no JSON', 200, NDJSON, `<html>\n${END}`, APIConnectionError],
        [reader, 'no end', 200, NDJSON, BEGUN, APIConnectionError],
        [reader, 'half an end', 200, NDJSON, BEGUN + END.slice(0, -5), APIConnectionError],
        [reader, 'something after the end', 200, NDJSON, `${BEGUN}${END}{"id":"b","values":[1]}\n`, APIConnectionError],
      ] as const,
  ),
)('the %s of an export that is %s are rejected', async (reader, _, status, type, text, Kind) => {
  await expect(READERS[reader]!(await answering(status, type, text))).rejects.toThrow(Kind);
});

test.each(Object.keys(READERS))(
  'the %s of a whole export are not, also without a line break at the end',
  async (reader) => {
    for (const text of [BEGUN + END, BEGUN + END.trim()]) {
      await READERS[reader]!(await answering(200, NDJSON, text));
      cutter!.close();
    }
  },
);

test('bytes are passed on unchanged, and in any pieces', async () => {
  const frame = new ExportFrame();
  for (const byte of Buffer.from(`${BEGUN + 'x'.repeat(9_000)}\n${END}`)) frame.takeBytes(Uint8Array.of(byte));
  frame.end();
  const text = await new Response((await (await answering(200, NDJSON, BEGUN + END)).export()).bytes()).text();
  expect(text).toBe(BEGUN + END);
});
