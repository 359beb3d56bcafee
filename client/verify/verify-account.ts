import { bytesFromBase64 } from './byte-reader.ts';
import { collectionAddress, TOKEN_2022_ADDRESS } from './collection-address.ts';
import { hashFromHex } from './record-proof.ts';
import { parseTokenMetadata } from './token-metadata.ts';
import { requireThat } from './verification-error.ts';

/** An account as returned by a node (`getAccountInfo`). Addresses are base58. */
export interface AccountSnapshot {
  address: string;
  /** The account's bytes, or their base64 text. */
  data: Uint8Array | string;
  /** Program that owns the account. */
  owner: string;
}

/** Content of a collection's account. */
export interface Anchor {
  /** 64 lower-case hex digits. */
  merkleRoot: string;
  version: number;
  vectorCount: number;
  /**
   * Number of decisions that overrode the account, such as an operator accepting the stored records
   * as correct. Never decreases.
   */
  decisions: number;
}

/**
 * Checks offline that `account` belongs to the collection and that only `authority` can have
 * written it. Returns its content. The caller pins the authority (base58) and fetches the account
 * from a node that it trusts. Throws a VerificationError if a check fails.
 */
export function verifyAccount(
  account: AccountSnapshot,
  { authority, collectionId }: { authority: string; collectionId: string },
): Anchor {
  const address = collectionAddress(authority, collectionId);
  requireThat(account.address === address, 'wrong-account', 'The address is not that of the collection.');
  requireThat(account.owner === TOKEN_2022_ADDRESS, 'wrong-account', 'The account is not owned by Token-2022.');
  const data = typeof account.data === 'string' ? bytesFromBase64(account.data, 'malformed', 'The data') : account.data;
  const { updateAuthority, mint, fields } = parseTokenMetadata(data);
  requireThat(
    updateAuthority === authority,
    'wrong-account',
    'An address other than the authority may write the metadata.',
  );
  requireThat(mint === address, 'wrong-account', 'The metadata is that of another mint.');
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
  requireThat(digits !== undefined && /^[0-9]{20}$/.test(digits), 'malformed', `${what} is not 20 digits.`);
  const number = Number(digits);
  requireThat(Number.isSafeInteger(number), 'malformed', `${what} is too large.`);
  return number;
}
