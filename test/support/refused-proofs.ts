import type { RecordProof } from '../../client/index.ts';
import { innerHashOf, keyHashOf, leafHashOf } from '../../client/verify/content-hash.ts';

/** A proof and root for `id`, and the record that the verifier expects. */
export interface Attempt {
  proof: unknown;
  root: string;
  id: string;
  record?: { values: number[]; metadata: object };
}

/** A valid proof, with the material to make similar proofs. */
export interface HonestProof extends Attempt {
  proof: RecordProof;
  prove(id: string): RecordProof;
}

const EMPTY = '0'.repeat(64);
const NO_HASHES = ['', 'a'.repeat(63), 'a'.repeat(65), 'A'.repeat(64), `${'a'.repeat(64)}\n`, 'g'.repeat(64), 7, null];
const SIGNATURE = '3ZGtPY4yDEq18URgvbqDGxeb9jNGZR6ikcz6JFT9fdWf2vDVrRRgJBQg5DskXjFcXoChTDt23knRqyRbaqQKK4X2';
const NO_SIGNATURES = [
  ...['', '1', '1'.repeat(63), '1'.repeat(65), 'z'.repeat(88), 'O'.repeat(88), 'z'.repeat(500)],
  ...[`1${SIGNATURE}`, SIGNATURE.slice(3), ` ${SIGNATURE}`, `${SIGNATURE}\n`, SIGNATURE.replace('3', '0')],
];
const PARTS = ['key', 'vecHash', 'metaHash'] as const;

/** The value as JSON transports it: undefined fields are missing. */
const asSent = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

const withField =
  (field: keyof RecordProof, values: readonly unknown[]) =>
  ({ proof, root, id }: HonestProof): Attempt[] =>
    values.map((value) => ({ proof: asSent({ ...proof, [field]: value }), root, id }));

const withSiblings = ({ proof, root, id }: HonestProof, lists: readonly (readonly unknown[])[]): Attempt[] =>
  lists.map((siblings) => ({ proof: asSent({ ...proof, siblings }), root, id }));

function flipped(hex: string, bit: number): string {
  const bytes = Buffer.from(hex, 'hex');
  bytes[bit >> 3]! ^= 0x80 >> (bit & 7);
  return bytes.toString('hex');
}

function otherIds({ proof, root, id, prove }: HonestProof): Attempt[] {
  const told = ['', 'x'.repeat(513), 'ü'.repeat(257)].map((each) => ({ proof: prove(each), root, id: each }));
  const untold = [7, null, undefined, ['x'], '\ud800'].map((each) => ({
    proof: asSent({ ...proof, id: each }),
    root,
    id,
  }));
  return [...told, ...untold];
}

function otherTerminals({ proof, root, id }: HonestProof): Attempt[] {
  const whole = proof.terminal ?? { key: EMPTY, vecHash: EMPTY, metaHash: EMPTY };
  const parts = PARTS.flatMap((part) => [...NO_HASHES, undefined].map((hash) => ({ ...whole, [part]: hash })));
  return [undefined, 7, 'x', [], {}, ...parts].map((terminal) => ({ proof: asSent({ ...proof, terminal }), root, id }));
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** An id whose key starts with this bit. */
function startsWith(bit: number, name: string): string {
  for (let at = 0; ; at++) if (keyHashOf(`${name} ${at}`)[0]! >> 7 === bit) return `${name} ${at}`;
}

/** A record of that id as the end of a proof, and its leaf. */
function endAt(id: string): { terminal: NonNullable<RecordProof['terminal']>; leaf: Uint8Array } {
  const [key, vec, meta] = [id, 'v', 'm'].map((each) => keyHashOf(each)) as [Uint8Array, Uint8Array, Uint8Array];
  return { terminal: { key: hex(key), vecHash: hex(vec), metaHash: hex(meta) }, leaf: leafHashOf(key, vec, meta) };
}

/**
 * A proof whose path leads to a root that belongs to no set. Only a writer of roots could have made
 * it.
 */
function underNoSet(
  { proof }: HonestProof,
  id: string,
  present: boolean,
  [left, right]: readonly [Uint8Array, Uint8Array],
  terminal: RecordProof['terminal'],
): Attempt {
  const root = hex(innerHashOf(left, right));
  return { proof: { ...proof, id, present, merkleRoot: root, siblings: [hex(right)], terminal }, root, id };
}

/**
 * Paths that no set has: an empty sibling next to an empty subtree, and a lone leaf that was not
 * moved up.
 */
function belowNothing(honest: HonestProof): Attempt[] {
  const nothing = new Uint8Array(32);
  const id = startsWith(0, 'lone');
  const { terminal, leaf } = endAt(id);
  return [
    underNoSet(honest, id, false, [nothing, nothing], null),
    underNoSet(honest, id, true, [leaf, nothing], terminal),
  ];
}

function besideThePath(honest: HonestProof): Attempt[] {
  const { proof, root, id } = honest;
  const { siblings, terminal } = proof;
  const misplaced = endAt(startsWith(1, 'misplaced'));
  const { leaf } = endAt(startsWith(1, 'beside'));
  const hidden = underNoSet(honest, startsWith(0, 'hidden'), false, [misplaced.leaf, leaf], misplaced.terminal);
  if (terminal === null) return [hidden];
  const moved = siblings.map((_, bit) => ({
    proof: { ...proof, terminal: { ...terminal, key: flipped(terminal.key, bit) } },
    root,
    id,
  }));
  return [hidden, ...moved];
}

function offTheRoot(honest: HonestProof): Attempt[] {
  const { proof, root, id } = honest;
  const { siblings, terminal } = proof;
  const [first = EMPTY] = siblings;
  const paths = [[flipped(first, 9), ...siblings.slice(1)]];
  // The end of a longer path must share another bit with the id's key; otherwise the proof would be
  // refused for that reason.
  if (proof.present || terminal === null) paths.push([first, ...siblings]);
  const ends =
    terminal === null ? [] : [null, ...PARTS.map((part) => ({ ...terminal, [part]: flipped(terminal[part], 255) }))];
  return [...withSiblings(honest, paths), ...ends.map((end) => ({ proof: { ...proof, terminal: end }, root, id }))];
}

function otherRecords({ proof, root, id, record, prove }: HonestProof): Attempt[] {
  if (record === undefined) return [{ proof, root, id, record: { values: [1], metadata: {} } }];
  const { values, metadata } = record;
  const others = [
    { values: [...values, 0], metadata },
    { values: values.with(0, values[0]! + 1), metadata },
    { values, metadata: { ...metadata, more: null } },
    { values, metadata: {} },
  ];
  return [
    ...others.map((other) => ({ proof, root, id, record: other })),
    { proof: prove('nobody'), root, id: 'nobody', record },
  ];
}

/** Proofs to refuse, by their row in docs/format.md. Each is derived from a valid proof. */
export const REFUSED_PROOFS: Readonly<Record<string, (honest: HonestProof) => Attempt[]>> = {
  P1: (honest) => [
    ...[null, [], 7, 'x'].map((proof) => ({ ...honest, proof })),
    ...withField('format', [undefined, null, 'PV2', 'pv1', 'PV1 ', ['PV1']])(honest),
  ],
  P2: (honest) => [
    ...otherIds(honest),
    ...withField('id', ['\0a', `\0a\0${honest.id}`])(honest),
    ...withField('namespace', [7, null, ['x'], '\ud800', 'a\0b', 'n'.repeat(513)])(honest),
  ],
  P3: withField('present', [undefined, null, 'true', 1, 0, []]),
  P4: withField('merkleRoot', [...NO_HASHES, undefined]),
  P5: withField('version', [undefined, null, -1, 1.5, 2 ** 53, '3', true, [3]]),
  P6: withField('collectionId', [
    undefined,
    null,
    7,
    '',
    '6f1c1c0e5a3e4a349d2b0d7d7b8a1f10',
    '6F1C1C0E-5A3E-4A34-9D2B-0D7D7B8A1F10',
    '6f1c1c0e-5a3e-4a34-9d2b-0d7d7b8a1f10\n',
  ]),
  P7: withField('ledgerAddress', [undefined, 7, false, {}, ['x']]),
  P8: (honest) => [
    ...withField('siblings', [undefined, null, {}, 'x', 7, { length: 0 }])(honest),
    ...withSiblings(honest, [Array(257).fill('a'.repeat(64))]),
    ...withSiblings(
      honest,
      [...NO_HASHES, { type: 'inner', hash: 'a'.repeat(64) }, ['a'.repeat(64)]].map((hash) => [
        hash,
        ...honest.proof.siblings.slice(1),
      ]),
    ),
  ],
  P9: otherTerminals,
  P10: (honest) => [
    { ...honest, root: flipped(honest.root, 7) },
    ...withField('merkleRoot', [flipped(honest.root, 7), EMPTY])(honest),
  ],
  P11: (honest) => [
    ...withField('namespace', ['other', ' '])(honest),
    { ...honest, id: `${honest.id} ` },
    ...withField('id', [`${honest.id} `, honest.id.toUpperCase()])(honest),
  ],
  P12: (honest) => [
    ...withSiblings(honest, [
      [...honest.proof.siblings, EMPTY],
      [...honest.proof.siblings.slice(0, -1), EMPTY],
    ]),
    ...belowNothing(honest),
  ],
  P13: besideThePath,
  P14: offTheRoot,
  P15: (honest) => withField('present', [!honest.proof.present])(honest),
  P16: otherRecords,
  P17: withField('ledgerTx', [...NO_SIGNATURES, 7, false, {}, ['x']]),
};
