import { readFileSync } from 'node:fs';

/** A signature by Ed25519, all in hex, and whether a validator of the ledger takes it. */
interface SignatureCase {
  what: string;
  isSigned: boolean;
  publicKey: string;
  signature: string;
  message: string;
}

/**
 * Those of RFC 8032, and ones at the limits: values outside their range, points of small order or
 * with a part of small order, bytes that encode no point.
 */
export const SIGNATURES = JSON.parse(
  readFileSync(new URL('../golden/ed25519.json', import.meta.url), 'utf8'),
) as SignatureCase[];
