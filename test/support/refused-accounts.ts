import type { AccountSnapshot } from '../../client/index.ts';

const OTHER_ADDRESS = '4jn3UvxZ9gntwAwpUKynygPYXr8jebfmbX9yf95Z8Wp5';
const METADATA_TYPE = 19;

type Account = AccountSnapshot & { data: Uint8Array };

/** Returns a variant of the account for each changed byte. */
const withBytes = (account: Account, bytes: readonly (readonly [at: number, byte: number])[]): Account[] =>
  bytes.map(([at, byte]) => {
    const data = Uint8Array.from(account.data);
    data[at] = byte;
    return { ...account, data };
  });

const ofLength = (account: Account, lengths: readonly number[]): Account[] =>
  lengths.map((length) => ({ ...account, data: Uint8Array.from({ length }, (_, at) => account.data[at] ?? 0) }));

const withMore = (account: Account, ends: readonly (readonly number[])[]): Account[] =>
  ends.map((end) => ({ ...account, data: Uint8Array.from([...account.data, ...end]) }));

/** Returns variants in which each of these texts replaces the same number of bytes. */
function replaced(account: Account, from: string, texts: readonly (string | Uint8Array)[]): Account[] {
  return texts.map((text) => {
    const data = Buffer.from(account.data);
    const at = data.indexOf(from);
    const bytes = Buffer.from(text);
    if (at < 0 || bytes.length !== from.length) throw new Error(`nothing to replace: ${from}`);
    data.set(bytes, at);
    return { ...account, data };
  });
}

/** Offset of the metadata entry. */
export function metadataAt(data: Uint8Array): number {
  const bytes = Buffer.from(data);
  let at = 166;
  while (bytes.readUInt16LE(at) !== METADATA_TYPE) at += 4 + bytes.readUInt16LE(at + 2);
  return at;
}

/** Replaces the content of the last entry and sets its length. */
function withMetadata(account: Account, change: (content: Buffer) => Buffer): Account {
  const at = metadataAt(account.data);
  const content = change(Buffer.from(account.data.subarray(at + 4)));
  const head = Buffer.from(account.data.subarray(0, at + 4));
  head.writeUInt16LE(content.length, at + 2);
  return { ...account, data: Buffer.concat([head, content]) };
}

function doubledField(content: Buffer): Buffer {
  content.writeUInt32LE(5, content.indexOf('merkleRoot') - 8);
  return Buffer.concat([content, content.subarray(content.indexOf('version') - 4, content.indexOf('vectorCount') - 4)]);
}

const numbers = (account: Account): Account[] => [
  ...replaced(account, 'version', ['Version', 'versiom']),
  ...replaced(account, 'vectorCount', ['vectorcount']),
  ...replaced(account, 'decisions', ['decisionz']),
  ...replaced(account, '0'.repeat(19), [' '.repeat(19), `-${'0'.repeat(18)}`, '9'.repeat(19), `0x${'0'.repeat(17)}`]),
];

/**
 * Accounts to refuse, by their row in docs/format.md. Each is derived from an account whose
 * metadata is its last entry.
 */
export const REFUSED_ACCOUNTS: Readonly<Record<string, (account: Account) => Account[]>> = {
  A1: (account) => [{ ...account, address: OTHER_ADDRESS }],
  A2: (account) =>
    ['TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA', '', OTHER_ADDRESS].map((owner) => ({ ...account, owner })),
  A3: (account) => ofLength(account, [0, 82, 165, 1025, 4096]),
  A4: (account) =>
    withBytes(account, [
      [165, 0],
      [165, 2],
      [45, 0],
      [45, 2],
      [82, 1],
      [164, 1],
    ]),
  A5: (account) => [
    ...ofLength(account, [account.data.length - 1, 167, 168, 240, 271, 273]),
    ...withMore(account, [[1], [0, 1], [0, 0, 1], [7, 0], [7, 0, 1, 0], [3, 0, 0, 0]]),
  ],
  A6: (account) => [
    ...ofLength(account, [166, metadataAt(account.data)]),
    ...withBytes(account, [[metadataAt(account.data), 20]]),
  ],
  A7: (account) => [
    ...replaced(account, 'PROVEC', [new Uint8Array(6).fill(0xff), Buffer.from('PRO\xed\xa0\x80', 'latin1')]),
    ...withBytes(account, [[metadataAt(account.data) + 4 + 64 + 3, 1]]),
    withMetadata(account, (content) => Buffer.concat([content, Buffer.of(0)])),
    withMetadata(account, doubledField),
  ],
  A8: (account) => {
    const at = metadataAt(account.data) + 4;
    const nobody = Uint8Array.from(account.data).fill(0, at, at + 32);
    return [...withBytes(account, [[at, 0]]), { ...account, data: nobody }];
  },
  A9: (account) => withBytes(account, [[metadataAt(account.data) + 4 + 63, 0]]),
  A10: (account) => {
    const at = Buffer.from(account.data).indexOf('merkleRoot') + 'merkleRoot'.length + 4;
    return [
      ...replaced(account, 'merkleRoot', ['merkleRooT']),
      ...withBytes(account, [
        [at, 0x41],
        [at, 0x67],
        [at + 63, 0x0a],
      ]),
    ];
  },
  A11: numbers,
};
