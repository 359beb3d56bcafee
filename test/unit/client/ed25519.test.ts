import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { decodeAddress } from '../../../client/verify/base58.ts';
import { isSignedBy } from '../../../client/verify/ed25519.ts';
import { LedgerKey } from '../../support/ledger-key.ts';
import { SIGNATURES } from '../../support/signatures.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex');

test.each(SIGNATURES)('$what: $isSigned', ({ isSigned, publicKey, signature, message }) => {
  expect(isSignedBy(bytes(publicKey), bytes(signature), bytes(message))).toBe(isSigned);
});

test('accepts what Node signs, and refuses it with any bit changed', () => {
  for (let length = 0; length < 64; length++) {
    const secret = randomBytes(32).toString('hex');
    const key = new LedgerKey(secret);
    const publicKey = decodeAddress(key.address)!;
    const message = randomBytes(length);
    const signature = key.sign(message);
    expect([secret, message, isSignedBy(publicKey, signature, message)]).toEqual([secret, message, true]);
    const forged = Buffer.from(signature).fill(signature[length]! ^ (1 << (length % 8)), length, length + 1);
    expect([secret, message, isSignedBy(publicKey, forged, message)]).toEqual([secret, message, false]);
  }
});
