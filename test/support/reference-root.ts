import { createHash } from 'node:crypto';

/** Written from the definition of format PV1 only; shares no code with the product. */
interface Leaf {
  key: Buffer;
  leaf: Buffer;
}

const sha256 = (...parts: (Buffer | string)[]) => {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** RFC 8785 for values that JSON.parse returns. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`).join(',')}}`;
}

/** The PV1 leaf of one record. */
export function referenceLeaf(id: string, values: number[], metadata: unknown): Leaf {
  const head = Buffer.from([1, 0, 0, 0, 0]);
  head.writeUInt32LE(values.length, 1);
  const vector = Buffer.alloc(values.length * 4);
  values.forEach((value, at) => {
    vector.writeFloatLE(Math.fround(value) + 0, at * 4);
  });
  const key = sha256('PV1key\0', id);
  const leaf = sha256(Buffer.of(0), key, sha256('PV1vec\0', head, vector), sha256('PV1met\0', canonical(metadata)));
  return { key, leaf };
}

/** The PV1 root of a set of leaves, in hex. */
export function referenceRoot(leaves: Leaf[]): string {
  return subtree(leaves, 0).toString('hex');
}

function subtree(leaves: Leaf[], depth: number): Buffer {
  if (leaves.length === 0) return Buffer.alloc(32);
  if (leaves.length === 1) return leaves[0]!.leaf;
  const isRight = ({ key }: Leaf) => ((key[depth >> 3]! >> (7 - (depth & 7))) & 1) === 1;
  return sha256(
    Buffer.of(1),
    subtree(
      leaves.filter((leaf) => !isRight(leaf)),
      depth + 1,
    ),
    subtree(leaves.filter(isRight), depth + 1),
  );
}
