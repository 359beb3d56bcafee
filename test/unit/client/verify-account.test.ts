import { createHash, randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  type Address,
  createAddressWithSeed,
  generateKeyPairSigner,
  getAddressDecoder,
  getAddressEncoder,
  type IInstruction,
  type KeyPairSigner,
  some,
} from '@solana/web3.js';
import * as system from '@solana-program/system';
import * as token from '@solana-program/token-2022';
import fc from 'fast-check';
import { type AccountSnapshot, collectionAddress, VerificationError, verifyAccount } from '../../../client/index.ts';
import { decodeAddress, encodeAddress } from '../../../client/verify/base58.ts';
import { parseTokenMetadata } from '../../../client/verify/token-metadata.ts';
import { LiteLedger } from '../../support/lite-ledger.ts';
import { seed } from '../../support/seed.ts';

const program = token.TOKEN_2022_PROGRAM_ADDRESS;
const collectionId = randomUUID();
const merkleRoot = createHash('sha256').update('root').digest('hex');
const fields = {
  merkleRoot,
  version: '42'.padStart(20, '0'),
  vectorCount: '7'.padStart(20, '0'),
  decisions: '3'.padStart(20, '0'),
};

let signer: KeyPairSigner;
/** A real account, created by the real program. */
let account: { address: string; owner: string; data: Uint8Array };

beforeAll(async () => {
  signer = await generateKeyPairSigner();
  account = await createAccount(new LiteLedger(signer), signer, collectionId);
});

async function createAccount(ledger: LiteLedger, authority: KeyPairSigner, id: string): Promise<typeof account> {
  const uuid = Buffer.from(id.replaceAll('-', ''), 'hex');
  const seed = createHash('sha256').update('PV1col\0').update(uuid).digest().subarray(0, 24).toString('base64url');
  const mint = await createAddressWithSeed({ baseAddress: authority.address, seed, programAddress: program });
  const own = authority.address;
  const extensions = [
    token.extension('MetadataPointer', { authority: some(own), metadataAddress: some(mint) }),
    token.extension('MintCloseAuthority', { closeAuthority: own }),
  ];
  const described = { name: 'Provec collection', symbol: 'PROVEC', uri: '' };
  const metadata = token.extension('TokenMetadata', {
    updateAuthority: some(own),
    mint,
    ...described,
    additionalMetadata: new Map(Object.entries(fields)),
  });
  const full = token.getMintSize([...extensions, metadata]);
  const field = ([name, value]: [string, string]): IInstruction =>
    token.getUpdateTokenMetadataFieldInstruction({
      metadata: mint,
      updateAuthority: authority,
      field: token.tokenMetadataField('Key', [name]),
      value,
    });
  const create: IInstruction[] = [
    system.getCreateAccountWithSeedInstruction({
      payer: authority,
      newAccount: mint,
      baseAccount: authority,
      base: own,
      seed,
      amount: ledger.rentOf(full),
      space: BigInt(token.getMintSize(extensions)),
      programAddress: program,
    }),
    token.getInitializeMetadataPointerInstruction({ mint, authority: own, metadataAddress: mint }),
    token.getInitializeMintCloseAuthorityInstruction({ mint, closeAuthority: own }),
    token.getInitializeMint2Instruction({ mint, decimals: 0, mintAuthority: own, freezeAuthority: null }),
    token.getInitializeTokenMetadataInstruction({
      metadata: mint,
      updateAuthority: own,
      mint,
      mintAuthority: authority,
      ...described,
    }),
  ];
  await ledger.send(create);
  await ledger.send(Object.entries(fields).map(field));
  return ledger.account(mint);
}

const expected = (): { authority: string; collectionId: string } => ({ authority: signer.address, collectionId });

function reasonOf(changes: Partial<AccountSnapshot>, against: Partial<ReturnType<typeof expected>> = {}): string {
  try {
    verifyAccount({ ...account, ...changes }, { ...expected(), ...against });
    return 'accepted';
  } catch (error) {
    if (error instanceof VerificationError) return error.reason;
    throw error;
  }
}

/**
 * The account's bytes, with the first occurrence of a text replaced by another of the same length.
 */
function replaced(from: string, to: string | Uint8Array): Uint8Array {
  const data = Buffer.from(account.data);
  const at = data.indexOf(from);
  if (at < 0 || Buffer.from(from).length !== Buffer.from(to).length) throw new Error('nothing to replace');
  data.set(Buffer.from(to), at);
  return data;
}

describe('a real account', () => {
  test('is accepted as bytes and as base64, and read', () => {
    const anchor = { merkleRoot, version: 42, vectorCount: 7, decisions: 3 };
    expect(verifyAccount(account, expected())).toEqual(anchor);
    const data = Buffer.from(account.data).toString('base64');
    expect(verifyAccount({ ...account, data }, expected())).toEqual(anchor);
    const shifted = Buffer.concat([Buffer.alloc(3), account.data]).subarray(3);
    expect(verifyAccount({ ...account, data: shifted }, expected())).toEqual(anchor);
  });

  test('reads the same as in the ledger program', () => {
    const decoded = token.getMintDecoder().decode(account.data);
    if (decoded.extensions.__option !== 'Some') throw new Error('the mint has no extensions');
    const metadata = decoded.extensions.value.find((each) => each.__kind === 'TokenMetadata');
    if (metadata?.__kind !== 'TokenMetadata') throw new Error('the mint has no metadata');
    const { name, symbol, uri, additionalMetadata, mint } = metadata;
    expect(parseTokenMetadata(account.data)).toEqual({
      updateAuthority: signer.address,
      mint,
      name,
      symbol,
      uri,
      fields: additionalMetadata,
    });
  });

  test('is refused for another program, address, authority or collection', async () => {
    const other = await generateKeyPairSigner();
    expect(reasonOf({ owner: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' })).toBe('wrong-account');
    expect(reasonOf({ owner: '' })).toBe('wrong-account');
    expect(reasonOf({ address: other.address })).toBe('wrong-account');
    expect(reasonOf({}, { authority: other.address })).toBe('wrong-account');
    expect(reasonOf({}, { collectionId: randomUUID() })).toBe('wrong-account');
    expect(reasonOf({}, { collectionId: collectionId.toUpperCase().replace(/^./, 'A') })).toBe('malformed');
    expect(reasonOf({}, { collectionId: '' })).toBe('malformed');
    expect(reasonOf({}, { authority: 'not an address' })).toBe('malformed');
  });

  test('is refused if its metadata has another update authority or mint, or none', async () => {
    const other = await generateKeyPairSigner();
    const bytes = getAddressEncoder();
    const own = Buffer.from(bytes.encode(signer.address));
    const mint = Buffer.from(bytes.encode(account.address as Address));
    const name = Buffer.from('Provec collection');
    const data = Buffer.from(account.data);
    const metadataAt = data.indexOf(name) - 4 - 64;
    expect(data.subarray(metadataAt, metadataAt + 64)).toEqual(Buffer.concat([own, mint]));
    for (const [at, value] of [
      [metadataAt, bytes.encode(other.address)],
      [metadataAt, new Uint8Array(32)],
      [metadataAt + 32, bytes.encode(other.address)],
    ] as const) {
      const tampered = Buffer.from(data);
      tampered.set(value, at);
      expect(reasonOf({ data: tampered })).toBe('wrong-account');
    }
  });

  test('is refused if someone else created it and handed its metadata to the authority, which need not agree', async () => {
    const other = await generateKeyPairSigner();
    const ledger = new LiteLedger(other);
    const { address } = await createAccount(ledger, other, collectionId);
    const handOver = { metadata: address as Address, updateAuthority: other, newUpdateAuthority: some(signer.address) };
    await ledger.send([token.getUpdateTokenMetadataUpdateAuthorityInstruction(handOver)]);
    const forged = ledger.account(address);
    expect(parseTokenMetadata(forged.data)).toMatchObject({ updateAuthority: signer.address, mint: address });
    expect(reasonOf(forged)).toBe('wrong-account');
    expect(reasonOf({ ...forged, address: account.address })).toBe('wrong-account');
  });

  test('is refused if a field is missing, duplicated or misspelt', () => {
    expect(reasonOf({ data: replaced('merkleRoot', 'merkleRooT') })).toBe('malformed');
    expect(reasonOf({ data: replaced('vectorCount', 'vectorcount') })).toBe('malformed');
    expect(reasonOf({ data: replaced('version', 'Version') })).toBe('malformed');
    expect(reasonOf({ data: replaced(merkleRoot, merkleRoot.toUpperCase()) })).toBe('malformed');
    expect(reasonOf({ data: replaced(merkleRoot, 'g'.repeat(64)) })).toBe('malformed');
    expect(reasonOf({ data: replaced(fields.version, `${' '.repeat(18)}42`) })).toBe('malformed');
    expect(reasonOf({ data: replaced(fields.version, '9'.repeat(20)) })).toBe('malformed');
    expect(reasonOf({ data: replaced(fields.vectorCount, `-${'0'.repeat(18)}7`) })).toBe('malformed');
    expect(reasonOf({ data: replaced('PROVEC', new Uint8Array(6).fill(0xff)) })).toBe('malformed');
  });

  test('is refused if it is truncated anywhere, or too long', () => {
    for (let length = 0; length < account.data.length; length++) {
      expect(reasonOf({ data: account.data.subarray(0, length) })).toBe('malformed');
    }
    const more = (...extra: number[]): Uint8Array => Buffer.concat([account.data, Uint8Array.from(extra)]);
    expect(reasonOf({ data: more(0, 0, 0, 0, 0) })).toBe('accepted');
    expect(reasonOf({ data: more(0, 0, 0, 1) })).toBe('malformed');
    expect(reasonOf({ data: more(19, 0, 0, 0) })).toBe('malformed');
    expect(reasonOf({ data: more(1) })).toBe('malformed');
    for (const data of ['', 'AAA', 'A A=', '####', '=AAA']) expect(reasonOf({ data })).toBe('malformed');
  });

  test('any changed byte is noticed in what the answer relies on', () => {
    const before = JSON.stringify(verifyAccount(account, expected()));
    const name = Buffer.from(account.data).indexOf('Provec collection');
    const metadataAt = name - 4 - 64 - 4;
    for (let at = metadataAt; at < account.data.length; at++) {
      if (at >= name && at < name + 'Provec collection'.length) continue;
      const data = Uint8Array.from(account.data);
      data[at] ^= 0x80;
      expect(reasonOf({ data })).not.toBe('accepted');
    }
    const otherRoot = replaced(merkleRoot, '0'.repeat(64));
    expect(JSON.stringify(verifyAccount({ ...account, data: otherRoot }, expected()))).not.toBe(before);
    for (const at of [45, 82, 164, 165]) {
      const data = Uint8Array.from(account.data);
      data[at] ^= 2;
      expect(reasonOf({ data })).toBe('malformed');
    }
  });
});

test("addresses match the ledger's", async () => {
  expect(collectionAddress(signer.address, collectionId)).toBe(account.address);
  const addresses = fc.uint8Array({ minLength: 32, maxLength: 32 });
  fc.assert(
    fc.property(
      fc.oneof(
        addresses,
        addresses.map((bytes) => bytes.fill(0, 0, 3)),
      ),
      (bytes) => {
        const text = getAddressDecoder().decode(bytes);
        expect(encodeAddress(bytes)).toBe(text);
        expect(decodeAddress(text)).toEqual(bytes);
        expect(decodeAddress(`1${text}`)).toBeNull();
      },
    ),
    { seed },
  );
  for (const text of ['', '1', 'O'.repeat(32), 'z'.repeat(44), '1'.repeat(33)]) expect(decodeAddress(text)).toBeNull();
  expect(() => encodeAddress(new Uint8Array(31))).toThrow(RangeError);
});
