import { afterEach, expect, test } from '@jest/globals';
import { Provec } from '../../../../client/index.ts';

/** Bodies that a client sent; nothing of what it refuses may be among them. */
const sent: string[] = [];
afterEach(() => {
  sent.length = 0;
});
const provec = new Provec({
  url: 'http://127.0.0.1:1',
  apiKey: 'k',
  fetch: async (_, init) => {
    sent.push(await new Response(init!.body).text());
    return new Response('{}');
  },
});
const notes = provec.collection('notes');

const holdsItself: Record<string, unknown> = {};
holdsItself.self = [holdsItself];
const FAULTS: [fault: unknown, message: RegExp][] = [
  [undefined, /is undefined\. Leave it out, or give null/],
  [() => 1, /has the type function; JSON has no such value/],
  [Symbol('s'), /has the type symbol; JSON has no such value/],
  [12n, /has the type bigint; JSON has no such value/],
  [new Map([['a', 1]]), /has the type Map; JSON has no such value/],
  [new Set([1]), /has the type Set; JSON has no such value/],
  [/x/, /has the type RegExp; JSON has no such value/],
  [Promise.resolve(1), /has the type Promise; JSON has no such value/],
  [new Float32Array(1), /has the type Float32Array; JSON/],
  [new ArrayBuffer(1), /has the type ArrayBuffer; JSON has no such value/],
  [Number.NaN, /is NaN; numbers are finite/],
  [Number.POSITIVE_INFINITY, /is Infinity; numbers are finite/],
  [new Date(Number.NaN), /is an invalid Date/],
  [{ [Symbol('gte')]: 2020 }, /has the key Symbol\(gte\); keys are strings/],
  [{ toJSON: () => undefined }, /is undefined/],
  [holdsItself, /contains itself/],
];

test.each(FAULTS)('%p is refused at its place, wherever it is', async (fault, message) => {
  const refused = async (call: () => Promise<unknown>, path: string) => {
    const error = await call().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message.startsWith(path)).toBe(true);
  };
  const any = fault as never;
  await refused(() => notes.query({ vector: [1], filter: { tenant: any } }), 'filter.tenant');
  await refused(
    () => notes.delete({ filter: { $and: [{ a: 1 }, { b: { $in: ['x', any] } }] } }),
    'filter.$and[1].b.$in[1]',
  );
  await refused(() => notes.count({ filter: { 'a b': any } }), 'filter["a b"]');
  await refused(() => notes.list({ namespace: any }).all(), 'namespace');
  await refused(() => notes.query({ vector: [1], topK: any }), 'topK');
  await refused(() => notes.queryMany({ queries: [{ id: 'a' }, { id: any }] }), 'queries[1].id');
  await refused(
    () => notes.update({ updates: [{ id: 'a', setMetadata: { x: [any] } }] }),
    'updates[0].setMetadata.x[0]',
  );
  await refused(() => notes.proof({ id: 'a', namespace: any }), 'namespace');
  const records = [
    { id: 'a', values: [1] },
    { id: 'b', values: [1], metadata: { year: any } },
  ];
  await refused(() => notes.upsert({ records }), 'records[1].metadata.year');
  await refused(() => notes.import(records), 'records[1].metadata.year');
  expect(sent).toEqual([]);
});

test('values of a vector that are not numbers are refused, in a list and in a typed array', async () => {
  for (const values of [[1, Number.NaN], Float32Array.of(1, Number.NaN)]) {
    await expect(notes.query({ vector: values })).rejects.toThrow('vector[1] is NaN');
    await expect(notes.upsert({ records: [{ id: 'a', values }] })).rejects.toThrow('records[0].values[1] is NaN');
    await expect(notes.import([{ id: 'a', values }])).rejects.toThrow('records[0].values[1] is NaN');
  }
  const sparse: number[] = [1];
  sparse[2] = 3;
  await expect(notes.query({ vector: sparse })).rejects.toThrow('vector[1] is undefined');
  expect(sent).toEqual([]);
});

test('all JSON values are sent as they are', async () => {
  class Dated {
    at = new Date(0);
  }
  const metadata = { text: 'ü\ud800', n: -0.5, yes: true, none: null, list: [[], {}], ...new Dated() };
  await notes.upsert({ records: [{ id: 'a', values: Float64Array.of(0.5), metadata }] }).catch(() => undefined);
  expect(JSON.parse(sent[0]!)).toEqual({
    records: [{ id: 'a', values: [0.5], metadata: { ...metadata, at: '1970-01-01T00:00:00.000Z' } }],
  });
});
