import { bytesFromBase64 } from './byte-reader.ts';
import { collectionAddress, TOKEN_2022_ADDRESS } from './collection-address.ts';
import { hashFromHex } from './record-proof.ts';
import { parseTokenMetadata } from './token-metadata.ts';
import { demand } from './verification-error.ts';

/** An account as the nodes of the ledger return it (`getAccountInfo`); addresses in base58. */
export interface AccountSnapshot {
  address: string;
  /** The account's bytes, or their base64 text. */
  data: Uint8Array | string;
  /** The program that owns the account. */
  owner: string;
}

/** What a collection's account says of it. */
export interface Anchor {
  /** 64 lower-case hex digits. */
  merkleRoot: string;
  version: number;
  vectorCount: number;
  /**
   * Counts what was decided over the account's head, as when an operator takes what is stored for
   * right; it only grows.
   */
  decisions: number;
}

/**
 * Checks offline that `account` is the one that belongs to the collection and that only `authority`
 * can have written it, and reads what it says. The caller pins the authority (base58) and fetches
 * the account from a node it trusts. Throws a VerificationError.
 */
export function verifyAccount(
  account: AccountSnapshot,
  { authority, collectionId }: { authority: string; collectionId: string },
): Anchor {
  const address = collectionAddress(authority, collectionId);
  demand(account.address === address, 'wrong-account', 'The address is not that of the collection.');
  demand(account.owner === TOKEN_2022_ADDRESS, 'wrong-account', 'The account is not owned by Token-2022.');
  const data = typeof account.data === 'string' ? bytesFromBase64(account.data, 'malformed', 'The data') : account.data;
  const { updateAuthority, mint, fields } = parseTokenMetadata(data);
  demand(updateAuthority === authority, 'wrong-account', 'An address other than the authority may write the metadata.');
  demand(mint === address, 'wrong-account', 'The metadata is that of another mint.');
  const merkleRoot = fields.get('merkleRoot') ?? '';
  hashFromHex(merkleRoot, 'merkleRoot');
  return {
    merkleRoot,
    version: wholeNumber(fields.get('version'), 'version'),
    vectorCount: wholeNumber(fields.get('vectorCount'), 'vectorCount'),
    decisions: wholeNumber(fields.get('decisions'), 'decisions'),
  };
}

function wholeNumber(digits: string | undefined, what: string): number {
  demand(digits !== undefined && /^[0-9]{20}$/.test(digits), 'malformed', `${what} is not 20 digits.`);
  const number = Number(digits);
  demand(Number.isSafeInteger(number), 'malformed', `${what} is too large.`);
  return number;
}
