import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../client/verify/content-hash.ts';
import { LeafTable } from '../../../client/verify/leaf-table.ts';
import { propertyRuns } from '../../support/effort.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';

const hashesOf = (id: string) => {
  const key = keyHashOf(id);
  return [key, leafHashOf(key, vecHashOf([1]), metaHashOf({}))] as const;
};

test('finds what was added, refuses a key twice, and has the root of its records', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ minLength: 1, unit: 'grapheme-ascii' }), { maxLength: 60 }), (ids) => {
      const table = new LeafTable();
      for (const id of ids) expect(table.add(...hashesOf(id))).toBe(true);
      for (const [number, id] of ids.entries()) {
        const [key, leaf] = hashesOf(id);
        expect(table.add(key, new Uint8Array(32))).toBe(false);
        expect(table.numberOf(key)).toBe(number);
        expect([...table.leafAt(number)]).toEqual([...leaf]);
      }
      expect(table.numberOf(keyHashOf('no such id\u0001'))).toBe(-1);
      expect(table.size).toBe(ids.length);
      expect(table.root()).toBe(referenceRoot(ids.map((id) => referenceLeaf(id, [1], {}))));
    }),
    { numRuns: propertyRuns(100) },
  );
});

test('grows over several blocks, and takes over the records of another table', () => {
  const [whole, one, other] = [new LeafTable(), new LeafTable(), new LeafTable()];
  for (let at = 0; at < 70_000; at++) {
    const key = keyHashOf(`${at}`);
    whole.add(key, key);
    (at % 3 === 0 ? one : other).add(key, key);
  }
  one.addAll(other);
  expect(one.size).toBe(70_000);
  expect(one.root()).toBe(whole.root());
});
