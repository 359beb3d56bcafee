import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type RequestName, requestsOf } from '../../../../contracts/requests/requests.ts';
import { isProvecError } from '../../../../lib/errors.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import { openApiDocument } from '../../../../services/gateway/openapi/document.ts';
import { ApiDocument, type Json } from '../../../support/api-document.ts';
import { propertyRuns } from '../../../support/effort.ts';
import { seed } from '../../../support/seed.ts';

const limits = {
  ...LIMITS,
  dimensionsMax: 8,
  shardsMax: 8,
  nameMaxChars: 5,
  idMaxBytes: 3,
  topKMax: 20,
  keyNameMaxChars: 4,
};
const requests = requestsOf(limits);
const document = new ApiDocument(openApiDocument({ limits, adminToken: 'set' }));
const schemas = document.json.components.schemas as Record<string, Json>;
const CONTEXT = { shape: { dimensions: 2, metric: 'cosine' }, wallMs: Date.UTC(2026, 0) } as const;

/** The code that the request is refused with, or that it is accepted. */
function outcomeOf(name: RequestName, body: Json): unknown {
  try {
    requests[name].refuseUnknown(body);
    return requests[name].decode(body, CONTEXT);
  } catch (error) {
    if (isProvecError(error)) return error.code;
    throw error;
  }
}

/**
 * Values of every type around every bound, except bounds that no schema can express (bytes of an
 * id, whether a time is in the future).
 */
const VALUES: unknown[] = [
  null,
  true,
  false,
  0,
  1,
  2,
  3,
  4,
  7,
  8,
  9,
  20,
  21,
  -1,
  1.5,
  1e300,
  '',
  'a',
  'abc',
  'abcd',
  '-a',
];
VALUES.push(
  'cosine',
  'dot',
  'l2',
  'bf16',
  'i8',
  'free',
  'gold',
  'strong',
  'eventual',
  'read',
  'write',
  'abcdef',
  {},
  [],
);
VALUES.push(['read'], ['read', 'write'], ['read', 'read'], ['admin'], ['a', 'b'], ['a', 1], [1, 2], [3, 4], ['1', 2]);
VALUES.push({ a: 1 }, { a: { $gt: 2 } }, { a: { $foo: 2 } }, { $and: [] }, { a: {} }, [{ id: 'a', values: [1, 2] }]);
VALUES.push([{ id: 'a' }], [{ id: 'a', values: [1, 2], metadata: null }], [{ id: 'a', values: [1, 2], value: [] }]);

/** Requests with so many required fields that no random one has all of them. */
const WHOLE: { readonly [N in RequestName]?: Json } = {
  putPlan: { vectors: 1, writes: null, queries: 0, collections: 2, keys: 3, shards: 8, anchoring: true },
};

const NAMES = Object.keys(requests) as RequestName[];

describe.each(NAMES)('a request to %s', (name) => {
  const isDescribed = !['none', 'import', 'createIndex'].includes(name);
  const schema = !isDescribed ? requests[name].schema : schemas[`${name[0].toUpperCase()}${name.slice(1)}`];
  const validate = document.compile(schema);
  const known = requests[name].names;

  test('is accepted if its schema accepts it, and refused if the schema refuses it', () => {
    const required = (schema.required ?? []) as string[];
    const field = fc.constantFrom(...known, ...known, ...required, ...required, 'other', 'constructor');
    const changes = fc.dictionary(field, fc.constantFrom(...VALUES), { maxKeys: 5, noNullPrototype: true });
    const whole = WHOLE[name];
    const body: fc.Arbitrary<Json> =
      whole === undefined ? changes : changes.chain((each) => fc.constantFrom(each, { ...whole, ...each }));
    let taken = 0;
    const property = fc.property(body, (fields) => {
      fc.pre([fields.expires_at, fields.expiresAt].every((time) => typeof time !== 'string'));
      const outcome = outcomeOf(name, fields);
      if (typeof outcome !== 'string') taken++;
      expect([fields, typeof outcome !== 'string']).toEqual([fields, validate(fields)]);
    });
    fc.assert(property, { seed, numRuns: propertyRuns(20_000) });
    expect(taken).toBeGreaterThan(0);
  });
});

test("absent fields have the document's defaults", () => {
  const defaultsIn = (schema: Json) =>
    Object.fromEntries(
      Object.entries(schema.properties as Record<string, Json>)
        .filter(([, property]) => 'default' in property)
        .map(([name, property]) => [name, property.default]),
    );
  const sent = {
    createCollection: { name: 'a', dimensions: 2 },
    query: { id: 'a' },
    fetch: { ids: ['a'] },
    createKey: { name: 'a' },
  };
  for (const [name, body] of Object.entries(sent)) {
    expect(outcomeOf(name as RequestName, body)).toEqual({
      ...body,
      ...defaultsIn(requests[name as RequestName].schema),
    });
  }
  expect(defaultsIn(requests.createCollection.schema)).toEqual({
    metric: 'cosine',
    shards: 1,
    replicas: 0,
    quantization: 'bf16',
    deletionProtection: false,
  });
});

test('reports all faults at once, each in a sentence', () => {
  const decode = () => requests.createCollection.decode({ name: '-', dimensions: 0, shards: 3 });
  expect(decode).toThrow(
    expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      message:
        'name must be 1 to 5 characters of A-Z a-z 0-9 . _ - that begin and end with a letter or digit, but is a string of 1 character. dimensions must be a whole number from 1 to 8, but is 0. shards must be a power of two from 1 to 8, but is 3.',
      details: [
        expect.objectContaining({ path: 'name' }),
        expect.objectContaining({ path: 'dimensions' }),
        expect.objectContaining({ path: 'shards' }),
      ],
    }),
  );
});

test('reports a vector of another length, whatever else is wrong', () => {
  expect(outcomeOf('query', { vector: [1, 2, 3], topK: 0 })).toBe('DIMENSION_MISMATCH');
});

test('requires exactly one of vector and id', () => {
  const decode = (body: Json) => () => requests.query.decode(body, CONTEXT);
  expect(decode({})).toThrow('vector must be given (exactly one of vector, id), but is missing.');
  expect(decode({ vector: [1, 0], id: 'a' })).toThrow(/but is given with id\.$/);
});
