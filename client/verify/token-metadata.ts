/**
 * Reads the metadata of a Token-2022 mint account. Layout: 82 bytes of mint, zeros up to 165,
 * account type, then entries of (type u16, length u16, bytes), little-endian. The entries end with
 * the data or with an entry of type 0, which only zeros may follow. Source:
 * solana-program/token-2022, `extension/mod.rs`; the metadata's fields are Borsh
 * (spl-token-metadata-interface). Throws a VerificationError for anything ambiguous.
 */
import { encodeAddress } from './base58.ts';
import { ByteReader } from './byte-reader.ts';
import { requireThat } from './verification-error.ts';

/** A mint's metadata. Addresses are base58. */
export interface TokenMetadata {
  /** Address that can change the metadata; 32 zero bytes (`1111...`) if none can. */
  updateAuthority: string;
  mint: string;
  name: string;
  symbol: string;
  uri: string;
  fields: Map<string, string>;
}

const MINT_BYTES = 82;
const MINT_INITIALIZED_AT = 45;
const ACCOUNT_TYPE_AT = 165;
const ACCOUNT_TYPE_MINT = 1;
const TOKEN_METADATA_TYPE = 19;
/**
 * Maximum size of an account, about twice that of a collection's account with all fields. Untrusted
 * data above it is not parsed.
 */
export const ACCOUNT_BYTES_MAX = 1024;
const ADDRESS_BYTES = 32;

/** Parses the metadata in a mint account's data. */
export function parseTokenMetadata(data: Uint8Array): TokenMetadata {
  requireThat(
    data.length > ACCOUNT_TYPE_AT && data.length <= ACCOUNT_BYTES_MAX,
    'malformed',
    'The account has a wrong size.',
  );
  requireThat(data[ACCOUNT_TYPE_AT] === ACCOUNT_TYPE_MINT, 'malformed', 'The account is not a mint.');
  requireThat(data[MINT_INITIALIZED_AT] === 1, 'malformed', 'The mint is not initialized.');
  requireThat(
    isZero(data.subarray(MINT_BYTES, ACCOUNT_TYPE_AT)),
    'malformed',
    'The padding after the mint is not zero.',
  );
  const entry = entriesOf(data).get(TOKEN_METADATA_TYPE);
  requireThat(entry !== undefined, 'malformed', 'The mint has no metadata.');
  const reader = new ByteReader(entry, 'The account');
  const metadata: TokenMetadata = {
    updateAuthority: encodeAddress(reader.bytes(ADDRESS_BYTES)),
    mint: encodeAddress(reader.bytes(ADDRESS_BYTES)),
    name: reader.text(),
    symbol: reader.text(),
    uri: reader.text(),
    fields: new Map(),
  };
  for (let left = reader.u32(); left > 0; left--) {
    const name = reader.text();
    requireThat(!metadata.fields.has(name), 'malformed', 'A field of the metadata occurs twice.');
    metadata.fields.set(name, reader.text());
  }
  requireThat(reader.done, 'malformed', 'Bytes are left over after the metadata.');
  return metadata;
}

function entriesOf(data: Uint8Array): Map<number, Uint8Array> {
  const entries = new Map<number, Uint8Array>();
  const reader = new ByteReader(data.subarray(ACCOUNT_TYPE_AT + 1), 'The account');
  while (!reader.done) {
    const type = reader.left >= 2 ? reader.u16() : 0;
    if (type === 0) {
      requireThat(isZero(reader.bytes(reader.left)), 'malformed', 'Bytes are left over after the extensions.');
      break;
    }
    requireThat(!entries.has(type), 'malformed', 'An extension occurs twice.');
    entries.set(type, reader.bytes(reader.u16()));
  }
  return entries;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
