import { sha256 } from '@noble/hashes/sha2.js';
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { decodeAddress, encodeAddress } from './base58.ts';
import { isCollectionId } from './record-proof.ts';
import { requireThat } from './verification-error.ts';

/** The Token-2022 program, which owns every collection's account. */
export const TOKEN_2022_ADDRESS = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb';

const SEED_TAG = utf8ToBytes('PV1col\0');
const SEED_BYTES = 24;

/**
 * Returns the ledger address (base58) of a collection's account. It depends only on the authority's
 * address (base58) and the collection's id (a lower-case UUID). Throws a VerificationError if one
 * of them is malformed.
 */
export function collectionAddress(authority: string, collectionId: string): string {
  const base = decodeAddress(authority);
  requireThat(base !== null, 'malformed', 'The authority is not a ledger address.');
  requireThat(isCollectionId(collectionId), 'malformed', 'The collection id is not a lower-case UUID.');
  const uuid = hexToBytes(collectionId.replaceAll('-', ''));
  const digest = sha256(concatBytes(SEED_TAG, uuid)).subarray(0, SEED_BYTES);
  const seed = btoa(String.fromCharCode(...digest))
    .replaceAll('+', '-')
    .replaceAll('/', '_');
  const program = decodeAddress(TOKEN_2022_ADDRESS);
  requireThat(program !== null, 'malformed', 'The program is not a ledger address.');
  return encodeAddress(sha256(concatBytes(base, utf8ToBytes(seed), program)));
}
