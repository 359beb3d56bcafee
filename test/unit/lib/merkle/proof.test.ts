import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { verifyProof } from '../../../../client/index.ts';
import { combineAll, siblingsAbove } from '../../../../lib/merkle/combine.ts';
import { keyHashOf, leafHashOf } from '../../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../../lib/merkle/map.ts';
import { collectionProof, terminalShard } from '../../../../lib/merkle/proof.ts';
import type { MerkleNode } from '../../../../lib/shard/head.ts';
import { propertyRuns } from '../../../support/effort.ts';
import { seed } from '../../../support/seed.ts';
import { ProvingCollection } from './collection.ts';
import { definedPath, definedRoot, describeNode, EMPTY_NODE, shardKeys } from './reference.ts';

describe('shards combine to the whole tree, and their proofs to its proofs', () => {
  test.each([0, 1, 2, 3, 5, 8])('2^%i shards', (shardBits) => {
    const keys = fc.array(shardKeys(0), { maxLength: 40 });
    fc.assert(
      fc.property(keys, fc.array(shardKeys(0), { maxLength: 6 }), (stored, absent) => {
        const shards = Array.from({ length: 2 ** shardBits }, () => new MerkleMap({ skipBits: shardBits }));
        const unique = new Map(stored.map((key) => [key.toString('hex'), key]));
        const items = [...unique.values()].map((key, slot) => ({ key, leaf: leafHashOf(key, key, key), slot }));
        for (const { key, leaf, slot } of items) shards[key[0] >> (8 - shardBits)].set(key, leaf, slot);
        const nodes = shards.map((shard) => shard.root());
        expect(describeNode(combineAll(nodes))).toBe(describeNode(definedRoot(items, 0)));
        for (const key of [...stored, ...absent]) {
          const index = key[0] >> (8 - shardBits);
          const proof = collectionProof(nodes, index, shards[terminalShard(nodes, index)].prove(key));
          const path = definedPath(items, key, 0);
          expect(proof.siblings.map(describeNode)).toEqual(path.siblings.map(describeNode));
          expect(proof.terminal).toEqual(path.terminal);
        }
      }),
      { seed, numRuns: propertyRuns(40) },
    );
  });
});

test('the offline verifier accepts every proof, of any number of records in any number of shards', () => {
  for (const shardBits of [0, 1, 2, 4, 8]) {
    for (const count of [0, 1, 2, 3, 4, 6, 10, 40]) {
      const records = Array.from({ length: count }, (_, i) => ({ id: `r${i}`, values: [i, -0, 0.1], metadata: { i } }));
      const collection = new ProvingCollection(shardBits, records);
      for (const { id, values, metadata } of records) {
        const proof = collection.prove(id);
        expect(verifyProof(proof.merkleRoot, proof, { id, values, metadata })).toBe('present');
      }
      for (let i = 0; i < 20; i++) {
        const proof = collection.prove(`absent ${i}`);
        expect(verifyProof(proof.merkleRoot, proof, { id: `absent ${i}` })).toBe('absent');
      }
    }
  }
});

describe('the shard whose lone leaf ends the path', () => {
  const leaf: MerkleNode = { type: 'leaf', hash: keyHashOf('leaf') };
  const inner: MerkleNode = { type: 'inner', hash: keyHashOf('inner') };
  const none = { siblings: [], terminal: null };
  const lone = { siblings: [], terminal: 'the lone leaf' };

  test('is the only shard with a record', () => {
    const nodes = [EMPTY_NODE, EMPTY_NODE, leaf, EMPTY_NODE];
    for (const index of [0, 1, 2, 3]) {
      expect(terminalShard(nodes, index)).toBe(2);
      expect(siblingsAbove(nodes, index)).toEqual([]);
      expect(collectionProof(nodes, index, lone)).toEqual(lone);
    }
  });

  test('is the neighbour below an inner node', () => {
    const nodes = [inner, EMPTY_NODE, EMPTY_NODE, leaf];
    expect([0, 1, 2, 3].map((index) => terminalShard(nodes, index))).toEqual([0, 1, 3, 3]);
    const left = combineAll(nodes.slice(0, 2));
    for (const index of [2, 3]) {
      expect(collectionProof(nodes, index, lone)).toEqual({ siblings: [left], terminal: 'the lone leaf' });
    }
    expect(collectionProof(nodes, 1, none).siblings).toEqual([leaf, inner]);
  });

  test('does not exist if all shards are empty', () => {
    const nodes = [EMPTY_NODE, EMPTY_NODE, leaf, leaf];
    expect(terminalShard(nodes, 0)).toBe(0);
    expect(collectionProof(nodes, 0, none).siblings).toHaveLength(1);
    expect(collectionProof([EMPTY_NODE, EMPTY_NODE], 1, none)).toEqual(none);
  });

  test('refuses a proof that cannot be of these nodes', () => {
    const below = { siblings: [leaf], terminal: 'some leaf' };
    expect(() => collectionProof([leaf, EMPTY_NODE], 1, none)).toThrow(RangeError);
    expect(() => collectionProof([leaf, leaf], 1, below)).toThrow(RangeError);
    expect(() => collectionProof([EMPTY_NODE, inner], 0, lone)).toThrow(RangeError);
    expect(() => collectionProof([EMPTY_NODE, inner], 1, lone)).toThrow(RangeError);
    expect(collectionProof([EMPTY_NODE, inner], 1, below).siblings).toEqual([EMPTY_NODE, leaf]);
  });

  test('three subtrees do not form a collection', () => {
    expect(() => combineAll([leaf, leaf, leaf])).toThrow(/power of two/);
  });
});
