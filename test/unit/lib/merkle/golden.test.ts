import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import canonicalize from 'canonicalize';
import { combine, combineAll } from '../../../../lib/merkle/combine.ts';
import { keyHashOf, leafHashOf, metaHashOf, vecHashOf } from '../../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../../lib/merkle/map.ts';
import type { NodeType } from '../../../../lib/shard/head.ts';
import { describeNode } from './reference.ts';

interface GoldenSet {
  records: { id: string; values: number[]; metadata: Record<string, unknown> }[];
  leaves: Record<string, string>;
  root: string;
  halves: { type: 'empty' | 'leaf' | 'node'; hash: string }[];
  proofs: Record<
    string,
    { siblings: string[]; terminal: { key: string; vecHash: string; metaHash: string } | null; present: boolean }
  >;
}
const golden: { sets: GoldenSet[] } = JSON.parse(
  readFileSync(new URL('../../../golden/merkle.json', import.meta.url), 'utf8'),
);

function hashesOf({ id, values, metadata }: GoldenSet['records'][number]) {
  const key = keyHashOf(id);
  const vecHash = vecHashOf(Float32Array.from(values));
  const metaHash = metaHashOf(canonicalize(metadata)!);
  return { key, vecHash, metaHash, leaf: leafHashOf(key, vecHash, metaHash) };
}

describe.each(golden.sets.map((set) => [set.records.length, set] as const))('golden set of %i', (_count, set) => {
  const records = set.records.map(hashesOf);

  test('leaves', () => {
    const leaves = set.records.map(({ id }, at) => [id, records[at].leaf.toString('hex')]);
    expect(Object.fromEntries(leaves)).toEqual(set.leaves);
  });

  test('root, and the halves that combine to it', () => {
    const whole = new MerkleMap({ skipBits: 0 });
    const halves = [new MerkleMap({ skipBits: 1 }), new MerkleMap({ skipBits: 1 })];
    records.forEach(({ key, leaf }, slot) => {
      whole.set(key, leaf, slot);
      halves[key[0] >> 7].set(key, leaf, slot);
    });
    const nodes = halves.map((half) => half.root());
    const expected = set.halves.map(
      ({ type, hash }) => `${type === 'node' ? 'inner' : (type satisfies NodeType)} ${hash}`,
    );
    expect(nodes.map(describeNode)).toEqual(expected);
    expect(Buffer.from(whole.root().hash).toString('hex')).toBe(set.root);
    expect(Buffer.from(combine(nodes[0], nodes[1]).hash).toString('hex')).toBe(set.root);
    expect(combineAll(nodes)).toEqual(combine(nodes[0], nodes[1]));
  });

  test.each(Object.entries(set.proofs))('proof of %j', (id, proof) => {
    const map = new MerkleMap({ skipBits: 0 });
    records.forEach(({ key, leaf }, slot) => {
      map.set(key, leaf, slot);
    });
    const { siblings, terminal } = map.prove(keyHashOf(id));
    expect(siblings.map(({ hash }) => Buffer.from(hash).toString('hex'))).toEqual(proof.siblings);
    const record = terminal && records[terminal.slot];
    expect(
      record && {
        key: record.key.toString('hex'),
        vecHash: record.vecHash.toString('hex'),
        metaHash: record.metaHash.toString('hex'),
      },
    ).toEqual(proof.terminal);
    expect(record?.key.equals(keyHashOf(id)) ?? false).toBe(proof.present);
  });
});

describe('what cannot be hashed is refused', () => {
  test('ill-formed Unicode', () => {
    expect(() => keyHashOf('\ud800')).toThrow(RangeError);
    expect(() => metaHashOf('{"a":"\udfff"}')).toThrow(RangeError);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('%p in a vector', (value) => {
    expect(() => vecHashOf(Float32Array.of(1, value))).toThrow(/values\[1\]/);
  });

  test('a hash of a wrong length', () => {
    const hash = Buffer.alloc(32);
    expect(() => leafHashOf(hash, hash, Buffer.alloc(31))).toThrow();
  });
});

test('-0 and +0 are one value, and a longer vector after a shorter one is hashed completely', () => {
  expect(vecHashOf(Float32Array.of(-0, 1))).toEqual(vecHashOf(Float32Array.of(0, 1)));
  const long = new Float32Array(5_000).fill(0.5);
  const first = vecHashOf(long);
  vecHashOf(Float32Array.of(1));
  expect(vecHashOf(long)).toEqual(first);
  expect(first).not.toEqual(vecHashOf(long.subarray(1)));
});
