/**
 * Checks that a transaction anchored a root: only the authority signed it, and it did nothing but
 * write this root and version into the collection's account. Works offline, from the answer of a
 * node that is trusted to report what was executed and is final (docs/format.md, 7).
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { decodeAddress, decodeSignature, encodeAddress } from './base58.ts';
import { ByteReader, bytesFromBase64 } from './byte-reader.ts';
import { collectionAddress, TOKEN_2022_ADDRESS } from './collection-address.ts';
import { isSignedBy } from './ed25519.ts';
import { requireThat } from './verification-error.ts';

/** A transaction that wrote the root of a proof. */
export interface AnchoringTransaction {
  /** Base58. */
  signature: string;
  slot: number;
  /** Time of the block, ISO 8601 UTC in seconds; null if the node does not know it. */
  anchoredAt: string | null;
}

/** Expected content, signer and account of a transaction. */
export interface ExpectedAnchor {
  authority: string;
  collectionId: string;
  /** Base58. */
  signature: string;
  merkleRoot: string;
  version: number;
}

/** Maximum size of a transaction on the ledger, in bytes. */
export const TRANSACTION_BYTES_MAX = 1232;
/** Last second of the year 9999, in Unix time. */
export const BLOCK_TIME_MAX = 253_402_300_799;
const SIGNATURE_BYTES = 64;
const ADDRESS_BYTES = 32;
const COMPUTE_BUDGET_ADDRESS = 'ComputeBudget111111111111111111111111111111';
/** First 8 bytes of the SHA-256 of "spl_token_metadata_interface:updating_field". */
const UPDATE_FIELD = 'dde9312db5cadcc8';
/** Borsh variant of an additional field. Name, symbol and uri have variants of their own. */
const NAMED_FIELD = 3;
const FIELDS = ['merkleRoot', 'version', 'vectorCount', 'decisions'];
const NUMBER_DIGITS = 20;

/**
 * Checks `transaction`, the `result` of `getTransaction` with `finalized` and `base64`, against its
 * expected content. Throws a VerificationError if a check fails.
 */
export function verifyTransaction(transaction: unknown, expected: ExpectedAnchor): AnchoringTransaction {
  const { signature, merkleRoot, version } = expected;
  requireThat(
    transaction !== null,
    'wrong-transaction',
    `No finalized transaction ${signature} is on the ledger: if it was made just now, try again in a minute.`,
  );
  const { slot, blockTime, meta, bytes } = parseAnswer(transaction);
  requireThat('err' in meta && meta.err === null, 'wrong-transaction', 'The transaction failed.');
  const { innerInstructions = null } = meta;
  const isFlat = innerInstructions === null || (Array.isArray(innerInstructions) && innerInstructions.length === 0);
  requireThat(isFlat, 'wrong-transaction', 'A program in the transaction called another program.');
  const fields = fieldsWritten(bytes, expected);
  requireThat(
    fields.get('merkleRoot') === merkleRoot && fields.get('version') === String(version).padStart(NUMBER_DIGITS, '0'),
    'wrong-root',
    'The transaction wrote another root or another version.',
  );
  const anchoredAt = blockTime === null ? null : new Date(blockTime * 1000).toISOString().replace('.000Z', 'Z');
  return { signature, slot, anchoredAt };
}

function parseAnswer(transaction: unknown) {
  const { slot, blockTime = null, meta, transaction: wire } = membersOf(transaction);
  requireThat(isWhole(slot, Number.MAX_SAFE_INTEGER), 'malformed', 'The transaction has no slot.');
  requireThat(
    blockTime === null || isWhole(blockTime, BLOCK_TIME_MAX),
    'malformed',
    '`blockTime` is not a valid time.',
  );
  requireThat(typeof meta === 'object' && meta !== null, 'malformed', 'The answer has no `meta`.');
  requireThat(Array.isArray(wire) && wire[1] === 'base64', 'malformed', 'The transaction is not in base64.');
  const bytes = bytesFromBase64(wire[0], 'malformed', 'The transaction');
  requireThat(bytes.length <= TRANSACTION_BYTES_MAX, 'malformed', 'The transaction is too long.');
  return { slot, blockTime, meta: membersOf(meta), bytes };
}

/** Returns the fields that a transaction wrote. Throws if it did anything else. */
function fieldsWritten(bytes: Uint8Array, { authority, collectionId, signature }: ExpectedAnchor): Map<string, string> {
  const reader = new ByteReader(bytes, 'The transaction');
  const signatures = lengthIn(reader);
  requireThat(signatures === 1, 'wrong-transaction', 'The transaction must have exactly one signature.');
  const signed = reader.bytes(SIGNATURE_BYTES);
  const message = bytes.subarray(bytes.length - reader.left);
  const isAsked = bytesToHex(signed) === bytesToHex(decodeSignature(signature) ?? Uint8Array.of());
  requireThat(isAsked, 'wrong-transaction', 'It is not the transaction that was asked for.');
  const signers = reader.u8();
  // A versioned transaction, which can take addresses from tables, has 128 or more here.
  requireThat(signers < 0x80, 'wrong-transaction', 'The transaction is not of the version `legacy`.');
  requireThat(
    signers === 1 && reader.u8() === 0,
    'wrong-transaction',
    'The transaction must be signed by the authority alone.',
  );
  reader.u8();
  const addresses = Array.from({ length: lengthIn(reader) }, () => encodeAddress(reader.bytes(ADDRESS_BYTES)));
  requireThat(addresses[0] === authority, 'wrong-transaction', 'Another authority signed the transaction.');
  reader.bytes(ADDRESS_BYTES);
  const mint = collectionAddress(authority, collectionId);
  const fields = new Map<string, string>();
  for (let left = lengthIn(reader); left > 0; left--) {
    const program = addresses[reader.u8()];
    const accounts = Array.from(reader.bytes(lengthIn(reader)), (at) => addresses[at]);
    const data = reader.bytes(lengthIn(reader));
    if (program === COMPUTE_BUDGET_ADDRESS) continue;
    requireThat(program === TOKEN_2022_ADDRESS, 'wrong-transaction', 'The transaction calls another program.');
    const isOwn = accounts.length === 2 && accounts[0] === mint && accounts[1] === authority;
    requireThat(isOwn, 'wrong-transaction', 'The transaction writes another account, or for another authority.');
    const [name, value] = fieldIn(data);
    requireThat(!fields.has(name), 'wrong-transaction', 'The transaction writes a field twice.');
    fields.set(name, value);
  }
  requireThat(reader.done, 'malformed', 'Bytes are left over after the transaction.');
  requireThat(fields.size === FIELDS.length, 'wrong-transaction', 'The transaction does not write all fields.');
  // This is the slowest check, so it comes last.
  const isSigned = isSignedBy(decodeAddress(authority)!, signed, message);
  requireThat(isSigned, 'wrong-transaction', "The transaction's signature is not the authority's.");
  return fields;
}

function fieldIn(data: Uint8Array): [name: string, value: string] {
  const isUpdate = data[8] === NAMED_FIELD && bytesToHex(data.subarray(0, 8)) === UPDATE_FIELD;
  requireThat(isUpdate, 'wrong-transaction', 'The transaction does something other than writing fields.');
  const reader = new ByteReader(data.subarray(9), 'The transaction');
  const field: [string, string] = [reader.text(), reader.text()];
  requireThat(reader.done, 'malformed', 'Bytes are left over after a field.');
  requireThat(FIELDS.includes(field[0]), 'wrong-transaction', 'The transaction writes an unknown field.');
  return field;
}

/** Reads a length. Every length in an anchoring transaction fits in one byte. */
function lengthIn(reader: ByteReader): number {
  const length = reader.u8();
  requireThat(length < 0x80, 'malformed', 'A length in the transaction takes more than one byte.');
  return length;
}

const isWhole = (value: unknown, max: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
