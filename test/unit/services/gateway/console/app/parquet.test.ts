/** Rows of a Parquet file as lines of an import, and how its columns are guessed. */
import { describe, expect, test } from '@jest/globals';
import {
  type ColumnMapping,
  columnsOf,
  guessedMapping,
} from '../../../../../../services/gateway/console/app/pages/collection/transfer/parquet-mapping.ts';
import { lineOf } from '../../../../../../services/gateway/console/app/pages/collection/transfer/parquet-row.ts';

const MAPPING: ColumnMapping = {
  id: 'key',
  vector: 'emb',
  namespace: 'ns',
  metadata: 'meta',
  fields: ['year', 'text'],
};
const recordOf = (row: Record<string, unknown>, mapping = MAPPING) => JSON.parse(lineOf(row, mapping, 7)) as object;

test('columns are guessed by their names and kinds', () => {
  const columns = [
    { name: 'text', kind: 'text' },
    { name: 'doc_id', kind: 'number' },
    { name: 'embedding', kind: 'list' },
    { name: 'tags', kind: 'list' },
    { name: 'metadata', kind: 'object' },
    { name: '__proto__', kind: 'number' },
  ] as const;
  expect(guessedMapping(columns)).toEqual({
    id: 'doc_id',
    vector: 'embedding',
    namespace: '',
    metadata: 'metadata',
    fields: ['text', 'tags', '__proto__'],
  });
  expect(guessedMapping([{ name: 'a', kind: 'text' }])).toEqual({
    id: 'a',
    vector: '',
    namespace: '',
    metadata: '',
    fields: [],
  });
  expect(columnsOf({ id: 'a', vector: 'b', namespace: '', metadata: '', fields: ['c', 'a'] })).toEqual(['a', 'b', 'c']);
});

test('a row becomes a record', () => {
  const row = {
    key: 12n,
    emb: Float32Array.from([0.5, -1]),
    ns: 'n',
    meta: '{"a": [1], "__proto__": 2}',
    year: new Date(0),
    text: new TextEncoder().encode('été'),
    unused: 1,
  };
  expect(lineOf(row, MAPPING, 1)).toBe(
    '{"id":"12","values":[0.5,-1],"metadata":{"a":[1],"__proto__":2,"year":"1970-01-01T00:00:00.000Z","text":"été"},"namespace":"n"}',
  );
});

test('values that JSON cannot hold become what it can, or nothing', () => {
  expect(recordOf({ key: 'a', emb: [1, 2n], year: Number.NaN, text: 2n ** 60n })).toEqual({
    id: 'a',
    values: [1, 2],
    metadata: { text: `${2n ** 60n}` },
  });
  const nested = { key: 'a', emb: [1], meta: { deep: { at: new Date(0), list: [1n, undefined] } } };
  expect(recordOf(nested)).toMatchObject({ metadata: { deep: { at: '1970-01-01T00:00:00.000Z', list: [1, null] } } });
});

describe('a row that cannot is named', () => {
  test.each([
    [{ emb: [1] }, 'Row 7: key is neither a text nor a number.'],
    [{ key: true, emb: [1] }, 'Row 7: key is neither a text nor a number.'],
    [{ key: 'a' }, 'Row 7: emb is not a list of numbers.'],
    [{ key: 'a', emb: '1' }, 'Row 7: emb is not a list of numbers.'],
    [{ key: 'a', emb: [1, null] }, 'Row 7: emb has something else than a number at position 2.'],
    [{ key: 'a', emb: [Number.NaN] }, 'Row 7: emb has something else than a number at position 1.'],
    [{ key: 'a', emb: [1], meta: '[1]' }, 'Row 7: meta is not an object.'],
    [{ key: 'a', emb: [1], meta: '{' }, 'Row 7: meta is not an object.'],
    [{ key: 'a', emb: [1], text: Uint8Array.of(255) }, 'Row 7: text holds bytes that are not text.'],
  ])('%#', (row, message) => {
    expect(() => lineOf(row, MAPPING, 7)).toThrow(message);
  });
});
