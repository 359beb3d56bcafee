import type { RecordProof } from '../../client/index.ts';

const EMPTY = '0'.repeat(64);

/** Random numbers that a forgery uses to choose what to change. */
export interface Draw {
  at: number;
  other: number;
  bit: number;
  hash: string;
}

function flipped(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes[bit >> 3]! ^= 1 << (bit & 7);
  return bytes.toString('hex');
}

/**
 * Each returns a changed proof, which must be refused, or the same proof when there is nothing to
 * forge.
 */
export const FORGERIES: Record<string, (proof: RecordProof, draw: Draw) => RecordProof> = {
  'a sibling less': (proof, { at }) => {
    const { siblings } = proof;
    return { ...proof, siblings: siblings.toSpliced(at % Math.max(1, siblings.length), 1) };
  },
  'a sibling more': (proof, { at, other, hash }) => {
    const { siblings } = proof;
    const more = [hash, EMPTY, siblings[other % Math.max(1, siblings.length)] ?? hash][other % 3]!;
    return { ...proof, siblings: siblings.toSpliced(at % (siblings.length + 1), 0, more) };
  },
  'siblings exchanged': (proof, { at, other }) => {
    const { siblings } = proof;
    if (siblings.length < 2) return proof;
    const [left, right] = [at % siblings.length, other % siblings.length];
    return { ...proof, siblings: siblings.with(left, siblings[right]!).with(right, siblings[left]!) };
  },
  'another sibling': (proof, { at, bit }) => {
    const { siblings } = proof;
    if (siblings.length === 0) return proof;
    const place = at % siblings.length;
    return { ...proof, siblings: siblings.with(place, flipped(siblings[place]!, bit)) };
  },
  'another end': (proof, { at, bit }) => {
    const { terminal } = proof;
    if (terminal === null) return proof;
    const field = (['key', 'vecHash', 'metaHash'] as const)[at % 3]!;
    return { ...proof, terminal: { ...terminal, [field]: flipped(terminal[field], bit) } };
  },
  'an end at nothing': (proof) => ({ ...proof, terminal: null }),
  'an end at a record': (proof, { hash }) => ({
    ...proof,
    terminal: proof.terminal ?? { key: hash, vecHash: hash, metaHash: hash },
  }),
  'the opposite claim': (proof) => ({ ...proof, present: !proof.present }),
  'another root': (proof, { bit }) => ({ ...proof, merkleRoot: flipped(proof.merkleRoot, bit) }),
  'no siblings': (proof) => ({ ...proof, siblings: [] }),
};
