import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  type RecordProof,
  rootOfRecords,
  VerificationError,
  type VerificationFailure,
  verifyProof,
} from '../../../client/index.ts';
import * as portable from '../../../client/verify/content-hash.ts';
import type { RecordProof as ServerProof } from '../../../contracts/actions/collections.ts';
import { LIMITS } from '../../../lib/limits.ts';
import * as native from '../../../lib/merkle/leaf.ts';
import { seed } from '../../support/seed.ts';
import { ProvingCollection, type SentRecord } from '../lib/merkle/collection.ts';

/**
 * The client has its own declaration of a proof; the compiler compares both declarations here. A
 * proof from an older server has no namespace.
 */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const sameDeclaration: Same<Required<RecordProof>, ServerProof> = true;

const records: SentRecord[] = Array.from({ length: 60 }, (_, i) => ({
  id: `record ${i}`,
  values: [i, -0, 0.1],
  metadata: { i, text: 'é', nested: { list: [1, null] } },
}));
const collection = new ProvingCollection(2, records);

/** A proof of presence, one that ends at another leaf, and one that ends at an empty subtree. */
const proofs: [string, RecordProof][] = [
  ['presence', collection.prove('record 7')],
  ['absence next to a leaf', absence((proof) => proof.terminal !== null)],
  ['absence at nothing', absence((proof) => proof.terminal === null)],
];

function absence(wanted: (proof: RecordProof) => boolean): RecordProof {
  for (let i = 0; ; i++) {
    const proof = collection.prove(`absent ${i}`);
    if (wanted(proof)) return proof;
  }
}

/** The outcome, or the reason for the refusal. `root`: the root that the verifier trusts. */
function outcomeOf(proof: RecordProof, root = proof.merkleRoot): 'present' | 'absent' | VerificationFailure {
  try {
    return verifyProof(root, proof);
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}

function flipBit(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes[bit >> 3] ^= 1 << (bit & 7);
  return bytes.toString('hex');
}

test('client and server define the same proof', () => {
  expect(sameDeclaration).toBe(true);
});

test('refuses an id that no record can have, even if the path is valid', () => {
  const max = LIMITS.idMaxBytes;
  for (const id of ['', 'x'.repeat(max + 1), 'ü'.repeat(max / 2 + 1)]) {
    expect(outcomeOf(collection.prove(id))).toBe('malformed');
  }
  for (const id of ['x', 'x'.repeat(max), 'ü'.repeat(max / 2)]) expect(outcomeOf(collection.prove(id))).toBe('absent');
});

describe('golden proofs', () => {
  const golden: { sets: GoldenSet[] } = JSON.parse(
    readFileSync(new URL('../../golden/merkle.json', import.meta.url), 'utf8'),
  );
  interface GoldenSet {
    records: SentRecord[];
    root: string;
    proofs: Record<string, { siblings: string[]; terminal: RecordProof['terminal']; present: boolean }>;
  }

  test.each(golden.sets.map((set) => [set.records.length, set] as const))('of %i records', (_count, set) => {
    for (const [id, { siblings, terminal, present }] of Object.entries(set.proofs)) {
      const real = new ProvingCollection(3, set.records).prove(id);
      expect(real).toMatchObject({ merkleRoot: set.root, siblings, terminal, present });
      const record = set.records.find((each) => each.id === id);
      expect(verifyProof(set.root, real, record)).toBe(present ? 'present' : 'absent');
    }
  });

  test.each(golden.sets.map((set) => [set.records.length, set] as const))('the root of %i records', (_count, set) => {
    expect(rootOfRecords(set.records)).toBe(set.root);
    expect(rootOfRecords(set.records.toReversed())).toBe(set.root);
    if (set.records.length === 0) return;
    const [first, ...others] = set.records;
    expect(rootOfRecords(others)).not.toBe(set.root);
    expect(rootOfRecords([{ ...first!, id: `${first!.id} ` }, ...others])).not.toBe(set.root);
    expect(() => rootOfRecords([...set.records, first!])).toThrow(TypeError);
  });
});

test('@noble/hashes and node:crypto compute the same hashes', () => {
  const values = fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), values, fc.json(), (id, vector, json) => {
      const key = native.keyHashOf(id);
      const vecHash = native.vecHashOf(Float32Array.from(vector));
      expect(Buffer.from(portable.keyHashOf(id)).equals(key)).toBe(true);
      expect(Buffer.from(portable.vecHashOf(vector)).equals(vecHash)).toBe(true);
      const metadata = { json };
      const metaHash = native.metaHashOf(JSON.stringify(metadata));
      expect(Buffer.from(portable.metaHashOf(metadata)).equals(metaHash)).toBe(true);
      const leaf = native.leafHashOf(key, vecHash, metaHash);
      expect(Buffer.from(portable.leafHashOf(key, vecHash, metaHash)).equals(leaf)).toBe(true);
    }),
    { seed },
  );
});

describe.each(proofs)('forgeries of a proof of %s', (_name, proof) => {
  const { siblings, terminal } = proof;
  const refused = (changes: Partial<RecordProof>): void => {
    expect(['present', 'absent']).not.toContain(outcomeOf({ ...proof, ...changes }, proof.merkleRoot));
  };

  test('the proof itself is valid', () => {
    expect(outcomeOf(proof)).toBe(proof.present ? 'present' : 'absent');
    expect(siblings.length).toBeGreaterThan(3);
  });

  test('any bit of any hash flipped', () => {
    for (let bit = 0; bit < 256; bit++) {
      siblings.forEach((sibling, at) => {
        refused({ siblings: siblings.with(at, flipBit(sibling, bit)) });
      });
      if (terminal !== null) {
        for (const part of ['key', 'vecHash', 'metaHash'] as const) {
          refused({ terminal: { ...terminal, [part]: flipBit(terminal[part], bit) } });
        }
      }
      const otherRoot = flipBit(proof.merkleRoot, bit);
      refused({ merkleRoot: otherRoot });
      expect(outcomeOf({ ...proof, merkleRoot: otherRoot })).toBe('wrong-root');
    }
  });

  test('siblings dropped, added, repeated and swapped', () => {
    const empty = '0'.repeat(64);
    for (let at = 0; at <= siblings.length; at++) {
      for (const extra of [empty, siblings[0], siblings.at(-1)!])
        refused({ siblings: siblings.toSpliced(at, 0, extra) });
      if (at === siblings.length) continue;
      refused({ siblings: siblings.toSpliced(at, 1) });
      for (let other = 0; other < at; other++) {
        if (siblings[at] === siblings[other]) continue;
        refused({ siblings: siblings.with(at, siblings[other]).with(other, siblings[at]) });
      }
    }
    refused({ siblings: [] });
    refused({ siblings: Array.from({ length: 257 }, () => siblings[0]) });
  });

  test('a path that continues below an empty subtree', () => {
    const below = siblings.with(siblings.length - 1, '0'.repeat(64));
    expect(outcomeOf({ ...proof, siblings: below })).toBe('not-canonical');
  });

  test('another claim, another id, another end', () => {
    refused({ present: !proof.present });
    refused({
      terminal: terminal === null ? { key: 'a'.repeat(64), vecHash: 'b'.repeat(64), metaHash: 'c'.repeat(64) } : null,
    });
    for (const [, other] of proofs) {
      if (other === proof) continue;
      refused({ id: other.id });
      refused({ id: other.id, present: other.present });
      refused({ terminal: other.terminal });
      refused({ siblings: other.siblings });
    }
    expect(() => verifyProof(proof.merkleRoot, proof, { id: `${proof.id} ` })).toThrow(/another id/);
  });

  test('hashes of a wrong length or spelling, and values of wrong types', () => {
    const upper = 'AB'.repeat(32);
    for (const hash of [
      '',
      'ab',
      upper,
      `0x${'a'.repeat(62)}`,
      'a'.repeat(66),
      `${'a'.repeat(64)}\n`,
      'g'.repeat(64),
      7,
      null,
    ]) {
      refused(JSON.parse(JSON.stringify({ siblings: [hash, ...siblings.slice(1)] })));
      refused(JSON.parse(JSON.stringify({ merkleRoot: hash })));
      refused(JSON.parse(JSON.stringify({ terminal: { key: hash, vecHash: hash, metaHash: hash } })));
      expect(() => verifyProof(String(hash), proof)).toThrow(VerificationError);
    }
    for (const wrong of [null, 7, 'PV2', {}, [null], [{}], [{ type: 'inner', hash: 'a'.repeat(64) }]]) {
      for (const field of ['format', 'id', 'present', 'siblings', 'version', 'collectionId', 'ledgerAddress']) {
        if (field === 'version' && wrong === 7) continue;
        if (wrong === null && field === 'ledgerAddress') continue;
        if (wrong === 'PV2' && ['collectionId', 'ledgerAddress'].includes(field)) continue;
        refused(JSON.parse(JSON.stringify({ [field]: wrong })));
      }
    }
    refused({ id: '\ud800' });
    expect(() => verifyProof(proof.merkleRoot, JSON.parse('null'))).toThrow(VerificationError);
    expect(() => verifyProof(proof.merkleRoot.toUpperCase(), { ...proof })).toThrow(VerificationError);
  });
});

describe('the content of a present record', () => {
  const proof = proofs[0][1];
  const { id, values, metadata } = records[7];
  const reasonOf = (expected: object): unknown => {
    try {
      return verifyProof(proof.merkleRoot, proof, expected);
    } catch (error) {
      return error instanceof VerificationError ? error.reason : error;
    }
  };

  test('is compared with the expectation', () => {
    expect(reasonOf({ id, values, metadata })).toBe('present');
    expect(reasonOf({ values: Float32Array.from(values), metadata: { ...metadata } })).toBe('present');
    expect(reasonOf({ values: [7, 0, Math.fround(0.1)] })).toBe('present');
    expect(reasonOf({ values: [7, 0] })).toBe('wrong-content');
    expect(reasonOf({ values: [7, 0, 0.100001] })).toBe('wrong-content');
    expect(reasonOf({ metadata: {} })).toBe('wrong-content');
    expect(reasonOf({ metadata: { ...metadata, i: 8 } })).toBe('wrong-content');
  });

  test('cannot be what no record can have', () => {
    expect(reasonOf({ values: [7, 0, 1e39] })).toBeInstanceOf(TypeError);
    expect(reasonOf({ metadata: { at: undefined } })).toBeInstanceOf(TypeError);
  });

  test.each([
    ['a null for 0', { values: [7, null, 0.1] }, 'values[1] must be a number'],
    ['a text and a boolean for numbers', { values: ['7', false, 0.1] }, 'values[0] must be a number'],
    ['nothing for a number', { values: [7, undefined, 0.1] }, 'values[1] must be a number'],
    ['bigints', { values: BigInt64Array.of(7n, 0n, 1n) }, 'values[0] must be a number'],
    ['a text of digits', { values: '701' }, 'values must be an array of at least one number'],
    ['null for values', { values: null }, 'values must be an array of at least one number'],
    ['an object', { values: { 0: 7, length: 1 } }, 'values must be an array of at least one number'],
    ['no values', { values: [] }, 'values must be an array of at least one number'],
    ['bytes', { values: new DataView(new ArrayBuffer(12)) }, 'values must be an array of at least one number'],
    ['null for metadata', { metadata: null }, 'metadata must be an object'],
    ['a list for metadata', { metadata: [] }, 'metadata must be an object'],
    ['a number for an id', { id: 7 }, 'id must be text'],
  ])("%s is a caller's mistake, reported in a sentence", (_, expected, message) => {
    expect(reasonOf(expected)).toEqual(new TypeError(message));
    const [absent] = proofs.map(([, other]) => other).filter(({ present }) => !present);
    expect(() => verifyProof(absent.merkleRoot, absent, JSON.parse('{"id":null}'))).toThrow('id must be text');
    expect(() => verifyProof(absent.merkleRoot, absent, expected as object)).toThrow(new TypeError(message));
  });

  test('null expects nothing', () => {
    expect(() => verifyProof(proof.merkleRoot, proof, JSON.parse('null'))).toThrow('expected must be an object');
  });
});
