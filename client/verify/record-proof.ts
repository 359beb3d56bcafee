import { hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { decodeSignature } from './base58.ts';
import { requireThat } from './verification-error.ts';

/**
 * The record at the end of the path: the requested one, or the only other one below that prefix.
 */
export interface ProofTerminal {
  key: string;
  vecHash: string;
  metaHash: string;
}

/**
 * A proof, as returned by the service, that a record is present in a collection or absent. All
 * hashes are 64 lower-case hex digits.
 */
export interface RecordProof {
  format: 'PV1';
  id: string;
  /** Absent or empty for the default namespace. */
  namespace?: string;
  present: boolean;
  merkleRoot: string;
  version: number;
  /**
   * Hashes of the sibling subtrees along the path, from the root down. An empty subtree has 64
   * zeros.
   */
  siblings: string[];
  terminal: ProofTerminal | null;
  collectionId: string;
  ledgerAddress: string | null;
  /**
   * The transaction (base58) that wrote this root into the account; null if there was none yet.
   * Absent in proofs from older versions of Provec.
   */
  ledgerTx?: string | null;
}

/** Maximum length of a path: one sibling for each bit of a key. */
export const SIBLINGS_MAX = 256;
const ID_BYTES_MAX = 512;
const NAMESPACE_BYTES_MAX = 512;
export const EMPTY_HEX = '0'.repeat(64);

/** Throws a VerificationError unless `proof` has the documented shape. */
export function checkShape(proof: RecordProof): void {
  requireThat(isObject(proof), 'malformed', 'The proof is not an object.');
  requireThat(proof.format === 'PV1', 'malformed', 'The proof is not in format PV1.');
  requireThat(typeof proof.id === 'string' && proof.id.isWellFormed(), 'malformed', 'The id is not well-formed text.');
  const idBytes = utf8ToBytes(proof.id).length;
  requireThat(idBytes > 0 && idBytes <= ID_BYTES_MAX, 'malformed', `The id is not of 1 to ${ID_BYTES_MAX} bytes.`);
  requireThat(!proof.id.startsWith('\0'), 'malformed', 'The id begins with U+0000.');
  const { namespace = '' } = proof;
  requireThat(
    typeof namespace === 'string' && namespace.isWellFormed() && !namespace.includes('\0'),
    'malformed',
    'The namespace is not well-formed text without U+0000.',
  );
  const namespaceBytes = utf8ToBytes(namespace).length;
  requireThat(
    namespaceBytes <= NAMESPACE_BYTES_MAX,
    'malformed',
    `The namespace has over ${NAMESPACE_BYTES_MAX} bytes.`,
  );
  requireThat(typeof proof.present === 'boolean', 'malformed', 'present is not a boolean.');
  requireThat(isHash(proof.merkleRoot), 'malformed', 'merkleRoot is not 64 lower-case hex digits.');
  requireThat(Number.isSafeInteger(proof.version) && proof.version >= 0, 'malformed', 'version is not a whole number.');
  requireThat(isCollectionId(proof.collectionId), 'malformed', 'collectionId is not a lower-case UUID.');
  requireThat(
    proof.ledgerAddress === null || typeof proof.ledgerAddress === 'string',
    'malformed',
    'ledgerAddress is neither text nor null.',
  );
  requireThat(Array.isArray(proof.siblings), 'malformed', 'siblings is not a list.');
  requireThat(proof.siblings.length <= SIBLINGS_MAX, 'malformed', `There are more than ${SIBLINGS_MAX} siblings.`);
  requireThat(proof.siblings.every(isHash), 'malformed', 'A sibling is not 64 lower-case hex digits.');
  const { terminal } = proof;
  requireThat(
    terminal === null ||
      (isObject(terminal) && isHash(terminal.key) && isHash(terminal.vecHash) && isHash(terminal.metaHash)),
    'malformed',
    'terminal is neither null nor three hashes of 64 lower-case hex digits.',
  );
  const { ledgerTx = null } = proof;
  requireThat(
    ledgerTx === null || (typeof ledgerTx === 'string' && decodeSignature(ledgerTx) !== null),
    'malformed',
    'ledgerTx is neither null nor a transaction signature.',
  );
}

/** Decodes 64 lower-case hex digits. Throws a VerificationError for anything else. */
export function hashFromHex(hex: string, what: string): Uint8Array {
  requireThat(isHash(hex), 'malformed', `${what} is not 64 lower-case hex digits.`);
  return hexToBytes(hex);
}

export function isCollectionId(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(value);
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}
