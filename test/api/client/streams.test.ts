import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { type Collection, ConnectionError, Provec, verifyExport } from '../../../client/index.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';

const COUNT = 5_000;
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

/** What was taken of the source when the call ended, and how. */
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

test('records that an async iterable makes are imported, and read again as records, lines and bytes', async () => {
  const taken = { records: 0, isClosed: false };
  expect(await full.import(counted(taken))).toMatchObject({ importedCount: COUNT, vectorCount: COUNT });
  expect(taken).toEqual({ records: COUNT, isClosed: true });
  const numbers = new Set<unknown>();
  for await (const { metadata } of await full.export()) numbers.add(metadata?.at);
  expect(numbers.size).toBe(COUNT);
  const { merkleRoot } = await full.describe();
  const verified = await verifyExport((await full.export()).lines());
  expect(verified).toMatchObject({ merkleRoot, vectorCount: COUNT });
  const copies = {
    bytes: (await full.export()).bytes(),
    blob: await new Response((await full.export()).bytes()).blob(),
  };
  for (const [name, source] of Object.entries(copies)) {
    expect(await (await emptyCollection(name)).import(source)).toMatchObject({ importedCount: COUNT, merkleRoot });
  }
});

test('an import that the service refuses rejects with its sentence and closes the source', async () => {
  const target = await emptyCollection('refused');
  const taken = { records: 0, isClosed: false };
  async function* faulty() {
    yield { id: 'first', values: [1, 2] };
    yield { id: 'wrong', values: [1] };
    yield* counted(taken);
  }
  await expect(target.import(faulty())).rejects.toMatchObject({
    name: 'BadRequestError',
    code: 'DIMENSION_MISMATCH',
    message: expect.stringMatching(/line 2/i),
  });
});

test('what the source throws is what the import rejects with', async () => {
  const target = await emptyCollection('thrown');
  async function* failing() {
    yield { id: 'first', values: [1, 2] };
    throw new RangeError('the source failed');
  }
  await expect(target.import(failing())).rejects.toThrow(new RangeError('the source failed'));
});

test('an export ends with its signal, and with the loop that reads it', async () => {
  const controller = new AbortController();
  const aborted = await full.export({ signal: controller.signal });
  const read = async () => {
    for await (const _ of aborted) controller.abort(new Error('enough'));
  };
  await expect(read()).rejects.toThrow('enough');
  for await (const { id } of await full.export()) {
    expect(id).toMatch(/^r/);
    break;
  }
  expect(await full.count()).toBe(COUNT);
});

test.each(['with the connection', 'with an answer that looks whole'])(
  'an export cut off %s is not taken',
  async (how) => {
    cutter = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' });
      response.write('{"export":{}}\n{"id":"a","values":[1]}\n', () => {
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
    await expect(read()).rejects.toThrow(ConnectionError);
    expect(ids.length).toBeLessThanOrEqual(1);
  },
);
