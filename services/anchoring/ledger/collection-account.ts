/**
 * A collection's account on chain: a Token-2022 mint with supply 0 whose metadata holds the root.
 * Its address is derived from the authority and the collection's id. Its size is fixed at creation,
 * since all fields have a fixed width, and only the authority can write or close it.
 */

import { createHash } from 'node:crypto';
import { type Address, createAddressWithSeed, type IInstruction, type KeyPairSigner, some } from '@solana/web3.js';
import { getSetComputeUnitLimitInstruction, getSetComputeUnitPriceInstruction } from '@solana-program/compute-budget';
import { getAllocateWithSeedInstruction, getTransferSolInstruction } from '@solana-program/system';
import {
  extension,
  getCloseAccountInstruction,
  getInitializeMetadataPointerInstruction,
  getInitializeMint2Instruction,
  getInitializeMintCloseAuthorityInstruction,
  getInitializeTokenMetadataInstruction,
  getMintSize,
  getUpdateTokenMetadataFieldInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
  tokenMetadataField,
} from '@solana-program/token-2022';
import { parseTokenMetadata, type TokenMetadata } from '../../../client/verify/token-metadata.ts';
import { VerificationError } from '../../../client/verify/verification-error.ts';
import type { CollectionId } from '../../../lib/ids.ts';
import { LEDGER_PROGRAM } from '../../../lib/ledger/program.ts';
import type { AnchoredRoot } from '../../../lib/shard/collection-root.ts';

/** `fields` is null between the creation of the account and its first root. */
export type ParsedAccount = { status: 'found'; fields: AnchoredRoot | null } | { status: 'foreign'; reason: string };

const TITLE = { name: 'Provec collection', symbol: 'PROVEC', uri: '' };
const NUMBER_DIGITS = 20;
const SEED_BYTES = 24;
const UUID_BYTES = 16;
/** Compute unit limits, about twice what the programs use. */
const CREATE_UNITS = 60_000;
const UPDATE_UNITS = 60_000;
const CLOSE_UNITS = 20_000;

const digits = (value: number): string => String(value).padStart(NUMBER_DIGITS, '0');

/**
 * Returns the 32-character seed of the collection's address: base64url(SHA256("PV1col\0" || uuid
 * bytes)[0..24]).
 */
export function collectionSeed(collectionId: CollectionId): string {
  const uuid = Buffer.from(collectionId.replaceAll('-', ''), 'hex');
  if (uuid.length !== UUID_BYTES) throw new RangeError('A collection id must be a UUID.');
  const digest = createHash('sha256').update('PV1col\0').update(uuid).digest();
  return digest.subarray(0, SEED_BYTES).toString('base64url');
}

export function collectionAddress(authority: Address, collectionId: CollectionId): Promise<Address> {
  return createAddressWithSeed({
    baseAddress: authority,
    seed: collectionSeed(collectionId),
    programAddress: TOKEN_2022_PROGRAM_ADDRESS,
  });
}

/** Returns the metadata fields in the account's order. */
function fieldsOf({ merkleRoot, version, vectorCount, decisions }: AnchoredRoot): [name: string, value: string][] {
  return [
    ['merkleRoot', merkleRoot],
    ['version', digits(version)],
    ['vectorCount', digits(vectorCount)],
    ['decisions', digits(decisions)],
  ];
}

function pointerAndCloser(authority: Address, mint: Address) {
  return [
    extension('MetadataPointer', { authority: some(authority), metadataAddress: some(mint) }),
    extension('MintCloseAuthority', { closeAuthority: authority }),
  ];
}

/** Returns the size of the account with all its fields, which determines its rent. */
export function accountBytes(authority: Address, mint: Address): number {
  const metadata = extension('TokenMetadata', {
    updateAuthority: some(authority),
    mint,
    ...TITLE,
    additionalMetadata: new Map(fieldsOf({ merkleRoot: '0'.repeat(64), version: 0, vectorCount: 0, decisions: 0 })),
  });
  return getMintSize([...pointerAndCloser(authority, mint), metadata]);
}

function budget(units: number, microLamports: bigint): IInstruction[] {
  const limit = getSetComputeUnitLimitInstruction({ units });
  return microLamports === 0n ? [limit] : [limit, getSetComputeUnitPriceInstruction({ microLamports })];
}

/**
 * Returns the instructions that create the account with its final rent and metadata, but without a
 * root. CreateAccountWithSeed is not used because it fails if anyone has sent lamports to the
 * address.
 */
export function createInstructions(
  authority: KeyPairSigner,
  mint: Address,
  collectionId: CollectionId,
  rentLamports: bigint,
  microLamports: bigint,
): IInstruction[] {
  const { address } = authority;
  return [
    ...budget(CREATE_UNITS, microLamports),
    getTransferSolInstruction({ source: authority, destination: mint, amount: rentLamports }),
    getAllocateWithSeedInstruction({
      newAccount: mint,
      baseAccount: authority,
      base: address,
      seed: collectionSeed(collectionId),
      space: getMintSize(pointerAndCloser(address, mint)),
      programAddress: TOKEN_2022_PROGRAM_ADDRESS,
    }),
    getInitializeMetadataPointerInstruction({ mint, authority: address, metadataAddress: mint }),
    getInitializeMintCloseAuthorityInstruction({ mint, closeAuthority: address }),
    getInitializeMint2Instruction({ mint, decimals: 0, mintAuthority: address, freezeAuthority: null }),
    getInitializeTokenMetadataInstruction({
      metadata: mint,
      updateAuthority: address,
      mint,
      mintAuthority: authority,
      ...TITLE,
    }),
  ];
}

export function updateInstructions(
  authority: KeyPairSigner,
  mint: Address,
  root: AnchoredRoot,
  microLamports: bigint,
): IInstruction[] {
  const updates = fieldsOf(root).map(([name, value]) =>
    getUpdateTokenMetadataFieldInstruction({
      metadata: mint,
      updateAuthority: authority,
      field: tokenMetadataField('Key', [name]),
      value,
    }),
  );
  return [...budget(UPDATE_UNITS, microLamports), ...updates];
}

/** Returns the instructions that close the account and pay its rent back to the authority. */
export function closeInstructions(authority: KeyPairSigner, mint: Address, microLamports: bigint): IInstruction[] {
  return [
    ...budget(CLOSE_UNITS, microLamports),
    getCloseAccountInstruction({ account: mint, destination: authority.address, owner: authority }),
  ];
}

/**
 * Parses an account and checks that it is the collection's and was written by the authority. Uses
 * the verifier's parser, so that verification never accepts an account that a client rejects.
 */
export function readAccount(data: Uint8Array, owner: string, authority: string, address: string): ParsedAccount {
  const foreign = (reason: string): ParsedAccount => ({ status: 'foreign', reason });
  if (owner !== LEDGER_PROGRAM) return foreign('The account belongs to another program.');
  let metadata: TokenMetadata;
  try {
    metadata = parseTokenMetadata(data);
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return foreign(error.message);
  }
  const { updateAuthority, mint, fields } = metadata;
  if (updateAuthority !== authority) return foreign('Another authority can write the account.');
  if (mint !== address) return foreign("The account's metadata names another mint.");
  if (fields.size === 0) return { status: 'found', fields: null };
  const root = {
    merkleRoot: fields.get('merkleRoot') ?? '',
    version: numberIn(fields.get('version')),
    vectorCount: numberIn(fields.get('vectorCount')),
    decisions: numberIn(fields.get('decisions')),
  };
  const isSound =
    /^[0-9a-f]{64}$/.test(root.merkleRoot) &&
    [root.version, root.vectorCount, root.decisions].every((number) => Number.isSafeInteger(number));
  if (!isSound) return foreign("The account's fields are not a root of this format.");
  return { status: 'found', fields: root };
}

/** Parses digits of the fixed width; NaN for any other text. */
const numberIn = (text = ''): number =>
  text.length === NUMBER_DIGITS && /^\d+$/.test(text) ? Number(text) : Number.NaN;
