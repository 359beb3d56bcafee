import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { MerkleNode } from '../../../../lib/shard/head.ts';

/** A record as the definition of the map uses it. */
export interface Item {
  key: Buffer;
  leaf: Buffer;
}

export const EMPTY_NODE: MerkleNode = { type: 'empty', hash: Buffer.alloc(32) };

function keyBit(key: Uint8Array, depth: number): number {
  return (key[depth >> 3] >> (7 - (depth & 7))) & 1;
}

/** T(S, d) exactly as defined. */
export function definedRoot(items: Item[], depth: number): MerkleNode {
  if (items.length === 0) return EMPTY_NODE;
  if (items.length === 1) return { type: 'leaf', hash: items[0].leaf };
  const [left, right] = [0, 1].map((bit) =>
    definedRoot(
      items.filter((item) => keyBit(item.key, depth) === bit),
      depth + 1,
    ),
  );
  const hash = createHash('sha256')
    .update(Buffer.from([1]))
    .update(left.hash)
    .update(right.hash)
    .digest();
  return { type: 'inner', hash };
}

/** The path to a key, exactly as defined. */
export function definedPath(
  items: Item[],
  key: Buffer,
  depth: number,
): { siblings: MerkleNode[]; terminal: Item | null } {
  if (items.length <= 1) return { siblings: [], terminal: items[0] ?? null };
  const same = items.filter((item) => keyBit(item.key, depth) === keyBit(key, depth));
  const other = items.filter((item) => keyBit(item.key, depth) !== keyBit(key, depth));
  const rest = definedPath(same, key, depth + 1);
  return { siblings: [definedRoot(other, depth + 1), ...rest.siblings], terminal: rest.terminal };
}

/**
 * Keys of one shard: evenly spread, in clusters that share up to 255 bits, or packed at either end
 * of the key space.
 */
export function shardKeys(skipBits: number): fc.Arbitrary<Buffer> {
  const evenly = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const clustered = fc
    .tuple(
      fc.constantFrom(0x00, 0x5a, 0xff),
      fc.constantFrom(8, 31, 32, 33, 64, 200, 248),
      fc.bigInt(0n, (1n << 256n) - 1n),
    )
    .map(([fill, bits, tail]) => {
      const base = BigInt(`0x${fill.toString(16).padStart(2, '0').repeat(32)}`);
      const mask = (1n << BigInt(256 - bits)) - 1n;
      return Buffer.from(((base & ~mask) | (tail & mask)).toString(16).padStart(64, '0'), 'hex');
    });
  return fc.oneof(evenly, clustered).map((bytes) => {
    const key = Buffer.from(bytes);
    key[0] = (key[0] & (0xff >>> skipBits)) | ((0xb4 << (8 - skipBits)) & 0xff & ~(0xff >>> skipBits));
    return key;
  });
}

export function describeNode(node: MerkleNode): string {
  return `${node.type} ${Buffer.from(node.hash).toString('hex')}`;
}
