import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { compareUtf8 } from '../../../../lib/records/utf8-order.ts';
import { propertyRuns } from '../../../support/effort.ts';

/** Long enough for several blocks, with a difference anywhere. */
const text = fc
  .tuple(fc.nat(1_300), fc.constantFrom('a', 'é', '\ufffd', '🧭'), fc.string({ unit: 'binary', maxLength: 3 }))
  .map(([length, unit, end]) => unit.repeat(length) + end);

test('orders strings by their UTF-8 bytes', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareUtf8(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect(compareUtf8(a, a)).toBe(0);
    }),
    { numRuns: propertyRuns(400) },
  );
});
