import { expect, test } from '@jest/globals';
import { RecordChecker } from '../../../../cli/moving/record-checker.ts';
import { ISSUE_NAMES } from '../../../../cli/sources/issues.ts';
import { parseSourceJson } from '../../../../cli/sources/json-answer.ts';
import type { SourceRecord } from '../../../../cli/sources/port.ts';
import { rootOfRecords } from '../../../../client/index.ts';
import { LeafTable } from '../../../../client/verify/leaf-table.ts';

const LONG = 'x'.repeat(41 * 1024);
let deep: object = {};
for (let level = 0; level < 40; level++) deep = { deep };

const check = (given: Partial<SourceRecord>, metric: 'cosine' | 'dot' = 'cosine', leaves = new LeafTable()) =>
  new RecordChecker({ dimensions: 2, metric, namespace: 'own' }, leaves).check({
    id: 'a',
    values: [1, 2],
    metadata: {},
    ...given,
  });

const LOST: [string, Partial<SourceRecord>][] = [
  ['no-vector', { values: null }],
  ['other-dimensions', { values: [1] }],
  ['other-dimensions', { values: [] }],
  ['non-finite-vector', { values: [1, 1e39] }],
  ['non-finite-vector', { values: [1, null] as unknown as number[] }],
  ['non-finite-vector', { values: [1, '2'] as unknown as number[] }],
  ['zero-vector', { values: [0, -1e-50] }],
  ['invalid-id', { id: '' }],
  ['invalid-id', { id: 'é'.repeat(257) }],
  ['invalid-id', { id: '\0a' }],
  ['invalid-id', { id: '\ud800' }],
  ['invalid-namespace', { namespace: 'a\0' }],
  ['invalid-namespace', { namespace: 'x'.repeat(513) }],
  ['large-metadata', { metadata: { text: LONG } }],
  ['large-metadata', { metadata: deep as Record<string, unknown> }],
];

test.each(LOST)('a record with %s cannot be moved: %j', (issue, given) => {
  expect(check(given)).toMatchObject({ record: null, issues: [issue] });
});

test.each<[string, Partial<SourceRecord>, object]>([
  ['long-text', { metadata: { a: 1 }, fields: { document: LONG, b: 'x' } }, { a: 1, b: 'x' }],
  ['taken-field', { metadata: { document: 1 }, fields: { document: 'x', b: 2 } }, { document: 1, b: 2 }],
  ['unsupported-value', { metadata: { a: Number.NaN, b: [1, new Map()], c: '\ud800', d: undefined } }, { b: [1] }],
  ['unsupported-value', { metadata: { a: Buffer.from('x'), b: new Date(Number.NaN), c: 1 } }, { c: 1 }],
  ['rounded-integer', { metadata: { a: 9_007_199_254_740_993n, b: 3n } }, { a: 9_007_199_254_740_992, b: 3 }],
  ['sparse-vector', { issues: ['sparse-vector'] }, {}],
  ['other-vector', { issues: ['other-vector'] }, {}],
])('with %s a part is left out: %o', (issue, given, metadata) => {
  const { record, issues } = check(given);
  expect(issues).toEqual([issue]);
  expect(record?.metadata).toEqual(metadata);
});

test('what Provec stores has no issue, and its leaf is that of the client', () => {
  const metadata = parseSourceJson('{"__proto__": 1, "t": [{"a": null}], "n": 12345678901234567168, "é": [1, "x"]}');
  const leaves = new LeafTable();
  const { record, issues, hasObjectsInLists } = check(
    { metadata: metadata as Record<string, unknown>, fields: { at: new Date(0) }, values: Float32Array.of(0.1, 0) },
    'cosine',
    leaves,
  );
  expect(issues).toEqual([]);
  expect(hasObjectsInLists).toBe(true);
  expect(record).toMatchObject({ id: 'a', namespace: 'own' });
  expect(JSON.stringify(record!.metadata)).toBe(
    '{"__proto__":1,"t":[{"a":null}],"n":12345678901234567000,"é":[1,"x"],"at":"1970-01-01T00:00:00.000Z"}',
  );
  expect(leaves.root()).toBe(rootOfRecords([{ ...record!, values: [0.1, 0] }]));
  expect(check({ values: [0, 0] }, 'dot').issues).toEqual([]);
  expect(check({ namespace: '' }, 'dot', leaves).issues).toEqual([]);
  expect(check({}, 'dot', leaves)).toMatchObject({ record: null, issues: ['repeated-id'] });
});

test('every issue has a case here', () => {
  const cases = [...LOST.map(([issue]) => issue), 'long-text', 'taken-field', 'unsupported-value', 'rounded-integer'];
  expect(new Set([...cases, 'sparse-vector', 'other-vector', 'repeated-id'])).toEqual(new Set(ISSUE_NAMES));
});
