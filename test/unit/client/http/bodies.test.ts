import { runInNewContext } from 'node:vm';
import { afterEach, expect, test } from '@jest/globals';
import { Provec } from '../../../../client/index.ts';

/** Bodies that the client sent; they must contain nothing of a refused request. */
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
let deep: unknown = 1;
for (let level = 0; level < 150; level++) deep = [deep];
/** Objects that `JSON.stringify` would write as `{}`, or without a field. */
class Tenant {
  get tenant() {
    return 'a';
  }
}
const hidden = Object.defineProperty({}, 'tenant', { value: 'a' });
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
  [holdsItself, /\.self\[0\] contains itself/],
  [deep, /is nested too deeply; 100 levels/],
  [new Tenant(), /has the type Tenant\. Give a plain object/],
  [new Proxy(new Tenant(), {}), /has the type Tenant/],
  [new (class {})(), /has a prototype of its own\. Give a plain object/],
  [Object.create({ tenant: 'a' }), /has a prototype of its own\. Give a plain object/],
  [Object.create(Object.create(null, { tenant: { value: 'a', enumerable: true } })), /has a prototype of its own/],
  [hidden, /\.tenant is not enumerable/],
  [
    {
      tenant: {
        ...hidden,
        get a() {
          return 1;
        },
      },
    },
    /\.tenant\.a is a getter/,
  ],
  [Object(1), /has the type Number; JSON has no such value/],
  [Object('a'), /has the type String; JSON has no such value/],
  [Object(true), /has the type Boolean; JSON has no such value/],
  [new Error('a'), /has the type Error; JSON has no such value/],
  [new WeakMap(), /has the type WeakMap; JSON has no such value/],
  [{ toJSON: () => new Tenant() }, /has the type Tenant/],
  [{ toJSON: () => new Date(0) }, /has the type Date/],
];

test.each(FAULTS)('refuses %p wherever it is, and names the place', async (fault, message) => {
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

test('refuses what a spread or a path would lose', async () => {
  class Everything {
    ids = ['a'];
    records = [{ id: 'a', values: [1] }];
    get filter() {
      return { tenant: 'a' };
    }
  }
  class WithVector {
    id = 'a';
    values = Float32Array.of(1);
    get metadata() {
      return { tenant: 'a' };
    }
  }
  const whole = new Everything() as never;
  const refused: [call: () => Promise<unknown>, message: RegExp][] = [];
  for (const body of [whole, Object.create({ filter: {} }), null, 5, []] as never[]) {
    refused.push(
      [() => notes.delete(body), /^The body (has|is) /],
      [() => notes.count(body), /^The body (has|is) /],
      [() => notes.list(body).all(), /^The body (has|is) /],
      [() => notes.upsert(body), /^The body (has|is) /],
      [() => notes.listNamespaces(body).all(), /^The query (has|is) /],
    );
  }
  const records = Array<object>(1_001).fill({ id: 'a', values: [1] }) as never;
  refused.push(
    [() => notes.upsert(Object.assign(new Everything(), { records })), /^The body has the type Everything/],
    [() => notes.queryMany([{ id: 'a' }] as never), /^The body has the type Array\. Give a plain object\./],
    [() => notes.upsert({ records: [new WithVector()] }), /^records\[0\] has the type WithVector/],
    [() => notes.import([new WithVector()]), /^records\[0\] has the type WithVector/],
    [() => notes.update({ updates: [new WithVector()] }), /^updates\[0\] has the type WithVector/],
    [() => notes.listNamespaces({ prefix: null as never }).all(), /^prefix must be text/],
    [() => notes.listNamespaces({ prefix: {} as never }).all(), /^prefix must be text/],
  );
  for (const [call, message] of refused) {
    await expect(call()).rejects.toThrow(TypeError);
    await expect(call()).rejects.toThrow(message);
  }
  expect(sent).toEqual([]);
});

test('refuses values of a vector that are not numbers, in a list and in a typed array', async () => {
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

test('sends all JSON values unchanged', async () => {
  const twice = { a: 1 };
  class Dated {
    at = new Date(0);
  }
  const plain = {
    bare: Object.assign(Object.create(null), { a: 1 }),
    foreign: runInNewContext('({ a: [1] })'),
    proxied: new Proxy({ a: 1 }, {}),
    twice: [twice, twice],
  };
  const metadata = { text: 'ü\ud800', n: -0.5, yes: true, none: null, list: [[], {}], ...plain, ...new Dated() };
  await notes.upsert({ records: [{ id: 'a', values: Float64Array.of(0.5), metadata }] }).catch(() => undefined);
  expect(JSON.parse(sent[0]!)).toEqual({
    records: [{ id: 'a', values: [0.5], metadata: { ...metadata, at: '1970-01-01T00:00:00.000Z' } }],
  });
});
