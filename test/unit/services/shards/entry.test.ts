import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { changesOf, decodeEntryBody, encodeEntryBody } from '../../../../services/shards/entry.ts';
import { propertyRuns } from '../../../support/effort.ts';

const id = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });
const entry = fc.nat(9).chain((dimensions) =>
  fc.record({
    dimensions: fc.constant(dimensions),
    upserts: fc.array(
      fc.record({
        id,
        vector: fc.float32Array({ minLength: dimensions, maxLength: dimensions }),
        metadata: fc.uint8Array({ maxLength: 40 }),
        leaf: fc.uint8Array({ minLength: 32, maxLength: 32 }),
      }),
      { maxLength: 5 },
    ),
    deletes: fc.array(id, { maxLength: 5 }),
  }),
);

function plain(body: Uint8Array) {
  const { dimensions, upserts, deletes } = decodeEntryBody(body);
  const copied = upserts.map(({ id, vector, metadata, leaf }) => ({
    id,
    vector: Float32Array.from(vector),
    metadata: Uint8Array.from(metadata),
    leaf: Uint8Array.from(leaf),
  }));
  return { dimensions, upserts: copied, deletes };
}

test('an entry is read back as written, from any offset, and a truncated or extended one is not accepted', () => {
  fc.assert(
    fc.property(entry, fc.nat(7), (given, offset) => {
      const body = encodeEntryBody(given);
      expect(plain(body)).toEqual(given);
      expect(body.byteLength).toBe(body.buffer.byteLength);
      const shifted = new Uint8Array(body.length + offset + 1);
      shifted.set(body, offset);
      expect(plain(shifted.subarray(offset, offset + body.length))).toEqual(given);
      expect(() => decodeEntryBody(shifted.subarray(offset))).toThrow(RangeError);
      for (let length = 1; length < body.length; length += 1 + Math.floor(body.length / 40)) {
        expect(() => decodeEntryBody(body.subarray(0, length))).toThrow(RangeError);
      }
    }),
    { numRuns: propertyRuns(200) },
  );
});

test('an empty body changes nothing; an unknown version is refused', () => {
  expect(changesOf(new Uint8Array(0), 7)).toEqual([]);
  const body = encodeEntryBody({ dimensions: 1, upserts: [], deletes: [] });
  body[0] = 2;
  expect(() => decodeEntryBody(body)).toThrow('version 2');
});

test('changes carry the seq, and deletes are null', () => {
  const leaf = new Uint8Array(32).fill(7);
  const upserts = [{ id: 'a', vector: Float32Array.of(1, 2), metadata: Buffer.from('{}'), leaf }];
  const changes = changesOf(encodeEntryBody({ dimensions: 2, upserts, deletes: ['b'] }), 9);
  expect(changes.map(({ id, record }) => [id, record?.seq])).toEqual([
    ['a', 9],
    ['b', undefined],
  ]);
  expect(changes[0].record?.vector).toEqual(Float32Array.of(1, 2));
});
