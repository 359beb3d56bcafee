import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { keyHashOf, leafHashOf } from '../../../../lib/merkle/leaf.ts';
import { MerkleMap } from '../../../../lib/merkle/map.ts';
import { seed } from '../../../support/seed.ts';
import { definedPath, definedRoot, describeNode, shardKeys } from './reference.ts';

const someHash = Buffer.alloc(32, 7);
const leafFor = (key: Buffer, revision: number): Buffer =>
  leafHashOf(key, Buffer.alloc(32, revision & 255), Buffer.alloc(32, revision >>> 8));

type Step = { kind: 'set' | 'replace' | 'delete' | 'root'; key: Buffer; pick: number };

const steps = (skipBits: number): fc.Arbitrary<Step[]> =>
  fc.array(
    fc.record({
      kind: fc.constantFrom<Step['kind']>('set', 'set', 'set', 'set', 'replace', 'delete', 'delete', 'root'),
      key: shardKeys(skipBits),
      pick: fc.nat(),
    }),
    { maxLength: 160, size: 'max' },
  );

/** Applies the steps to a MerkleMap and to a plain Map, and compares every result. */
function play(skipBits: number, script: Step[]): void {
  const map = new MerkleMap({ skipBits });
  const model = new Map<string, { key: Buffer; leaf: Buffer; slot: number }>();
  const check = (key: Buffer) => {
    const items = [...model.values()];
    expect(describeNode(map.root())).toBe(describeNode(definedRoot(items, skipBits)));
    const { siblings, terminal } = map.prove(key);
    const path = definedPath(items, key, skipBits);
    expect(siblings.map(describeNode)).toEqual(path.siblings.map(describeNode));
    expect(terminal).toEqual(path.terminal);
  };
  script.forEach(({ kind, key: fresh, pick }, at) => {
    const known = [...model.values()];
    const key = kind === 'set' || known.length === 0 ? fresh : known[pick % known.length].key;
    const before = model.get(key.toString('hex'))?.slot ?? -1;
    if (kind === 'root') {
      check(pick % 2 === 0 ? key : fresh);
    } else if (kind === 'delete') {
      expect(map.delete(key)).toBe(before);
      model.delete(key.toString('hex'));
      expect(map.find(key)).toBe(-1);
    } else {
      const entry = { key, leaf: leafFor(key, at), slot: pick };
      expect(map.set(key, entry.leaf, entry.slot)).toBe(before);
      model.set(key.toString('hex'), entry);
    }
    expect(map.size).toBe(model.size);
  });
  for (const { key, leaf, slot } of model.values()) {
    expect(map.find(key)).toBe(slot);
    expect(map.leafAt(key)?.equals(leaf)).toBe(true);
  }
  for (const { key } of [...model.values()].slice(0, 3)) check(key);
  const inOrder = [...model.values()].sort((a, b) => a.key.compare(b.key));
  expect([...map.entries()]).toEqual(inOrder);
  for (const { key } of inOrder) map.delete(key);
  expect(describeNode(map.root())).toBe(`empty ${'0'.repeat(64)}`);
}

describe('a map matches its definition under random changes', () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('skipBits %i', (skipBits) => {
    fc.assert(
      fc.property(steps(skipBits), (script) => play(skipBits, script)),
      { seed, numRuns: 8 },
    );
  });
});

test('grows through many sizes and back, with roots taken in between', () => {
  const map = new MerkleMap({ skipBits: 0 });
  const items = Array.from({ length: 3_000 }, (_, slot) => {
    const key = keyHashOf(`id-${slot}`);
    return { key, leaf: leafFor(key, slot), slot };
  });
  items.forEach(({ key, leaf, slot }, at) => {
    map.set(key, leaf, slot);
    if (at % 97 === 0) map.root();
    if (at % 991 === 0) expect(map.root()).toEqual(definedRoot(items.slice(0, at + 1), 0));
  });
  expect(map.root()).toEqual(definedRoot(items, 0));
  items.forEach(({ key, slot }, at) => {
    expect(map.delete(key)).toBe(slot);
    if (at % 89 === 0) map.root();
    if (at % 991 === 0) expect(map.root()).toEqual(definedRoot(items.slice(at + 1), 0));
  });
});

test.each([0x00, 0xff])('a thousand keys that share 200 bits of %i', (fill) => {
  const map = new MerkleMap({ skipBits: 0 });
  const items = Array.from({ length: 1_000 }, (_, slot) => {
    const key = Buffer.alloc(32, fill);
    keyHashOf(`${slot}`).copy(key, 25);
    map.set(key, leafFor(key, slot), slot);
    return { key, leaf: leafFor(key, slot), slot };
  });
  expect(describeNode(map.root())).toBe(describeNode(definedRoot(items, 0)));
  for (const { key, slot } of items) expect(map.find(key)).toBe(slot);
  const other = Buffer.alloc(32, fill);
  expect(map.prove(other).siblings.map(describeNode)).toEqual(definedPath(items, other, 0).siblings.map(describeNode));
  for (const { key, slot } of items.slice(1)) expect(map.delete(key)).toBe(slot);
  expect(map.root()).toEqual({ type: 'leaf', hash: items[0].leaf });
});

describe('memory', () => {
  const filled = (count: number): MerkleMap => {
    const map = new MerkleMap({ skipBits: 0 });
    for (let slot = 0; slot < count; slot++) map.set(keyHashOf(`${slot}`), someHash, slot);
    return map;
  };

  test('almost none when empty, about 100 bytes per record at any size', () => {
    expect(new MerkleMap({ skipBits: 0 }).bytes).toBeLessThan(100);
    for (const count of [100, 1_000, 10_000, 50_000]) expect(filled(count).bytes / count).toBeLessThan(125);
  });

  test('is freed by deletes', () => {
    const map = filled(20_000);
    const full = map.bytes;
    for (let slot = 100; slot < 20_000; slot++) map.delete(keyHashOf(`${slot}`));
    expect(map.bytes).toBeLessThan(full / 80);
    for (let slot = 0; slot < 100; slot++) {
      expect(map.find(keyHashOf(`${slot}`))).toBe(slot);
      map.delete(keyHashOf(`${slot}`));
    }
    expect(map.bytes).toBe(new MerkleMap({ skipBits: 0 }).bytes);
  });
});

describe('misuse fails', () => {
  test('keys of another shard, short hashes, slots that are not u32', () => {
    const map = new MerkleMap({ skipBits: 2 });
    map.set(Buffer.alloc(32, 0x40), someHash, 0);
    map.set(Buffer.alloc(32, 0x41), someHash, 1);
    expect(() => map.set(Buffer.alloc(32, 0x80), someHash, 1)).toThrow(/another shard/);
    expect(() => map.prove(Buffer.alloc(32, 0x80))).toThrow(/another shard/);
    expect(map.find(Buffer.alloc(32, 0x80))).toBe(-1);
    expect(() => map.set(Buffer.alloc(31, 0x40), someHash, 1)).toThrow();
    expect(() => map.set(Buffer.alloc(32, 0x42), Buffer.alloc(31), 1)).toThrow();
    for (const slot of [-1, 1.5, 2 ** 32 - 1]) {
      expect(() => map.set(Buffer.alloc(32, 0x42), someHash, slot)).toThrow(/slot/);
    }
    expect(map.size).toBe(2);
    expect(map.set(Buffer.alloc(32, 0x42), someHash, 2 ** 32 - 2)).toBe(-1);
    expect(map.find(Buffer.alloc(32, 0x42))).toBe(2 ** 32 - 2);
  });

  test('a change while entries are read', () => {
    const map = new MerkleMap({ skipBits: 0 });
    map.set(Buffer.alloc(32, 1), someHash, 0);
    map.set(Buffer.alloc(32, 2), someHash, 1);
    const entries = map.entries();
    entries.next();
    map.delete(Buffer.alloc(32, 2));
    expect(() => entries.next()).toThrow(/changed/);
  });

  test('a map copies what it returns and accepts', () => {
    const map = new MerkleMap({ skipBits: 0 });
    const key = Buffer.alloc(32, 1);
    const leaf = Buffer.alloc(32, 2);
    map.set(key, leaf, 0);
    leaf.fill(9);
    map.leafAt(key)!.fill(9);
    map.root().hash.fill(9);
    map.prove(key).terminal!.leaf.fill(9);
    expect(map.root()).toEqual({ type: 'leaf', hash: Buffer.alloc(32, 2) });
    expect(map.leafAt(key)).toEqual(Buffer.alloc(32, 2));
  });
});
