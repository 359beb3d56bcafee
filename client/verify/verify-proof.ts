/**
 * Checks a proof of presence or absence offline.
 *
 * Promises that, unless SHA-256 is broken, an answer is true of the set of records behind `root`,
 * whatever the server sent: directions come from the hash of the id and namespace alone, and
 * shapes that no set of records has are refused. It fails with a VerificationError. `version`,
 * `collectionId` and `ledgerAddress` are outside the root: hold them against the account
 * (`verifyAccount`).
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { innerHashOf, keyHashOf, leafHashOf, metaHashOf, vecHashOf } from './content-hash.ts';
import { checkShape, EMPTY_HEX, hashFromHex, type RecordProof } from './record-proof.ts';
import { demand } from './verification-error.ts';

/** What the caller knows of the record; what is left out is not compared. */
export interface ExpectedRecord {
  /** The id that was asked about, so that a proof about another id is refused. */
  id?: string;
  /** ... and its namespace; beside an id, absent is the default one. */
  namespace?: string;
  values?: ArrayLike<number>;
  metadata?: object;
}

/**
 * Whether the record of `proof.id` was in the collection when `root` (64 hex digits) was its root.
 * A record that is there with other values or metadata than `expected`, or is not there although
 * some are expected, is refused as `wrong-content`. Without them, 'present' says only that the id
 * had some record. Throws TypeError when `expected` holds what no record can, whatever the proof
 * says, and RangeError when its metadata nests too deep.
 */
export function verifyProof(root: string, proof: RecordProof, expected: ExpectedRecord = {}): 'present' | 'absent' {
  const { id, namespace, vecHash, metaHash } = hashesOf(expected);
  const rootHash = bytesToHex(hashFromHex(root, 'root'));
  checkShape(proof);
  demand(proof.merkleRoot === rootHash, 'wrong-root', 'The proof is about another root.');
  demand(id === undefined || id === proof.id, 'wrong-content', 'The proof is about another id.');
  const { namespace: proven = '' } = proof;
  const isSameNamespace = namespace === undefined || namespace === proven;
  demand(isSameNamespace, 'wrong-content', 'The proof is about another namespace.');

  const key = keyHashOf(proof.id, proven);
  const { siblings, terminal } = proof;
  const isLastEmpty = siblings.at(-1) === EMPTY_HEX;
  let outcome: 'present' | 'absent' = 'absent';
  let hash = hashFromHex(EMPTY_HEX, 'EMPTY');
  if (terminal === null) {
    demand(!isLastEmpty, 'not-canonical', 'The path goes on below a subtree of no record.');
  } else {
    const terminalKey = hashFromHex(terminal.key, 'terminal.key');
    for (let depth = 0; depth < siblings.length; depth++) {
      demand(bitOf(terminalKey, depth) === bitOf(key, depth), 'not-canonical', 'The path ends at a record beside it.');
    }
    demand(!isLastEmpty, 'not-canonical', 'The path goes on below a subtree of one record.');
    hash = leafHashOf(
      terminalKey,
      hashFromHex(terminal.vecHash, 'terminal.vecHash'),
      hashFromHex(terminal.metaHash, 'terminal.metaHash'),
    );
    if (terminal.key === bytesToHex(key)) {
      outcome = 'present';
      const valuesMatch = vecHash === undefined || vecHash === terminal.vecHash;
      demand(valuesMatch, 'wrong-content', 'The record has other values.');
      const metadataMatches = metaHash === undefined || metaHash === terminal.metaHash;
      demand(metadataMatches, 'wrong-content', 'The record has other metadata.');
    }
  }
  for (let depth = siblings.length - 1; depth >= 0; depth--) {
    const sibling = hashFromHex(siblings[depth], 'sibling');
    hash = bitOf(key, depth) === 1 ? innerHashOf(sibling, hash) : innerHashOf(hash, sibling);
  }
  demand(bytesToHex(hash) === rootHash, 'wrong-root', 'The path does not lead to the root.');
  const isContentExpected = vecHash !== undefined || metaHash !== undefined;
  demand(outcome === 'present' || !isContentExpected, 'wrong-content', 'There is no record of that id.');
  demand(proof.present === (outcome === 'present'), 'malformed', 'The proof shows the opposite of what it claims.');
  return outcome;
}

/** What the expected record's parts hash to, in hex; what is left out stays so. */
function hashesOf(expected: ExpectedRecord) {
  if (typeof expected !== 'object' || expected === null) throw new TypeError('expected must be an object');
  const { id, namespace = id === undefined ? undefined : '', values, metadata } = expected;
  if (id !== undefined && typeof id !== 'string') throw new TypeError('id must be text');
  if (namespace !== undefined && typeof namespace !== 'string') throw new TypeError('namespace must be text');
  return {
    id,
    namespace,
    vecHash: values === undefined ? undefined : bytesToHex(vecHashOf(values)),
    metaHash: metadata === undefined ? undefined : bytesToHex(metaHashOf(metadata)),
  };
}

function bitOf(key: Uint8Array, depth: number): number {
  return (key[depth >>> 3] >>> (7 - (depth & 7))) & 1;
}
