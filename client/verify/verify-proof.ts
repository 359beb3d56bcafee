/**
 * Checks a proof of presence or absence offline.
 *
 * Unless SHA-256 is broken, a verdict is true for the set of records behind `root`, whatever the
 * server sent. The directions of the path come only from the hash of the id and namespace. Shapes
 * that no set of records can have are refused with a VerificationError. The root does not cover
 * `version`, `collectionId` and `ledgerAddress`: compare them with the account (`verifyAccount`).
 */
import { bytesToHex } from '@noble/hashes/utils.js';
import { bitOf, innerHashOf, keyHashOf, leafHashOf, metaHashOf, vecHashOf } from './content-hash.ts';
import { checkShape, EMPTY_HEX, hashFromHex, type RecordProof } from './record-proof.ts';
import { requireThat } from './verification-error.ts';

/** What the caller knows about the record. Absent fields are not compared. */
export interface ExpectedRecord {
  /** Requested id. A proof about another id is refused. */
  id?: string;
  /** Namespace of the record. If `id` is given, the default is the default namespace. */
  namespace?: string;
  values?: ArrayLike<number>;
  metadata?: object;
}

/**
 * Returns whether the record of `proof.id` was in the collection when its root was `root` (64 hex
 * digits). Fails with `wrong-content` if values or metadata are expected and the record is absent
 * or has others. If none are expected, 'present' means only that the id had a record. Throws
 * TypeError if `expected` is not a valid record, whatever the proof says, and RangeError if its
 * metadata nests too deep.
 */
export function verifyProof(root: string, proof: RecordProof, expected: ExpectedRecord = {}): 'present' | 'absent' {
  const { id, namespace, vecHash, metaHash } = hashesOf(expected);
  const rootHash = bytesToHex(hashFromHex(root, 'root'));
  checkShape(proof);
  requireThat(proof.merkleRoot === rootHash, 'wrong-root', 'The proof is about another root.');
  requireThat(id === undefined || id === proof.id, 'wrong-content', 'The proof is about another id.');
  const { namespace: proven = '' } = proof;
  const isSameNamespace = namespace === undefined || namespace === proven;
  requireThat(isSameNamespace, 'wrong-content', 'The proof is about another namespace.');

  const key = keyHashOf(proof.id, proven);
  const { siblings, terminal } = proof;
  const isLastEmpty = siblings.at(-1) === EMPTY_HEX;
  let outcome: 'present' | 'absent' = 'absent';
  let hash = hashFromHex(EMPTY_HEX, 'EMPTY');
  if (terminal === null) {
    requireThat(!isLastEmpty, 'not-canonical', 'The path continues below an empty subtree.');
  } else {
    const terminalKey = hashFromHex(terminal.key, 'terminal.key');
    for (let depth = 0; depth < siblings.length; depth++) {
      requireThat(
        bitOf(terminalKey, depth) === bitOf(key, depth),
        'not-canonical',
        'The path ends at a record beside it.',
      );
    }
    requireThat(!isLastEmpty, 'not-canonical', 'The path continues below a subtree of one record.');
    hash = leafHashOf(
      terminalKey,
      hashFromHex(terminal.vecHash, 'terminal.vecHash'),
      hashFromHex(terminal.metaHash, 'terminal.metaHash'),
    );
    if (terminal.key === bytesToHex(key)) {
      outcome = 'present';
      const valuesMatch = vecHash === undefined || vecHash === terminal.vecHash;
      requireThat(valuesMatch, 'wrong-content', 'The record has other values.');
      const metadataMatches = metaHash === undefined || metaHash === terminal.metaHash;
      requireThat(metadataMatches, 'wrong-content', 'The record has other metadata.');
    }
  }
  for (const [depth, siblingHex] of [...siblings.entries()].reverse()) {
    const sibling = hashFromHex(siblingHex, 'sibling');
    hash = bitOf(key, depth) === 1 ? innerHashOf(sibling, hash) : innerHashOf(hash, sibling);
  }
  requireThat(bytesToHex(hash) === rootHash, 'wrong-root', 'The path does not lead to the root.');
  const isContentExpected = vecHash !== undefined || metaHash !== undefined;
  requireThat(outcome === 'present' || !isContentExpected, 'wrong-content', 'There is no record of that id.');
  requireThat(
    proof.present === (outcome === 'present'),
    'malformed',
    'The proof shows the opposite of what it claims.',
  );
  return outcome;
}

/** Returns the hashes (hex) of the expected values and metadata; undefined if not given. */
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
