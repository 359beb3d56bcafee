import { readFileSync } from 'node:fs';
import { createKeyPairSignerFromPrivateKeyBytes } from '@solana/web3.js';
import type { RecordProof } from '../../../client/index.ts';
import {
  accountBytes,
  collectionAddress,
  createInstructions,
  updateInstructions,
} from '../../../services/anchoring/ledger/collection-account.ts';
import type { FormatPage } from '../../support/format-page.ts';
import { LedgerKey } from '../../support/ledger-key.ts';
import { LiteLedger } from '../../support/lite-ledger.ts';
import type { HonestProof } from '../../support/refused-proofs.ts';
import type { HonestTransaction } from '../../support/refused-transactions.ts';
import { ProvingCollection, type SentRecord } from '../lib/merkle/collection.ts';

interface GoldenSet {
  records: SentRecord[];
  leaves: Record<string, string>;
  root: string;
  proofs: Record<string, Pick<RecordProof, 'siblings' | 'terminal' | 'present'>>;
}
export const GOLDEN_SETS = (
  JSON.parse(readFileSync(new URL('../../golden/merkle.json', import.meta.url), 'utf8')) as { sets: GoldenSet[] }
).sets;

/** The three records of docs/format.md, with a collection that proves them. */
export const EXAMPLE = { ...GOLDEN_SETS[3]!, collection: new ProvingCollection(2, GOLDEN_SETS[3]!.records) };
export const EXAMPLE_COLLECTION = '6f1c1c0e-5a3e-4a34-9d2b-0d7d7b8a1f10';
export const EXAMPLE_VERSION = 3;
/** 2026-11-27T15:42:53Z. */
export const EXAMPLE_TIME = 1_795_794_173;
/** Names of the blocks with proofs, by the ids that they prove. */
export const PROOF_BLOCKS = {
  'βeta-1': 'proof-of-presence',
  'absent-1': 'proof-of-absence-at-nothing',
  'absent-4': 'proof-of-absence-at-a-record',
};

/** RFC 8032, 7.1, test 1. */
const SECRET_KEY = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60';

export interface ExampleAccount {
  address: string;
  owner: string;
  data: Uint8Array;
}

export interface ExampleOnLedger {
  account: ExampleAccount;
  authority: string;
  /** The transaction that wrote the root; `wire` is base64. */
  transaction: { wire: string; signature: string };
}

/** Creates the account by running the service's instructions in the ledger's own program. */
export async function exampleOnLedger(): Promise<ExampleOnLedger> {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(Buffer.from(SECRET_KEY, 'hex'));
  const authority = signer.address;
  const mint = await collectionAddress(authority, EXAMPLE_COLLECTION);
  const ledger = new LiteLedger(signer);
  const rent = ledger.rentOf(accountBytes(authority, mint));
  await ledger.send(createInstructions(signer, mint, EXAMPLE_COLLECTION, rent, 0n));
  const { root: merkleRoot, records } = EXAMPLE;
  const anchored = { merkleRoot, version: EXAMPLE_VERSION, vectorCount: records.length, decisions: 0 };
  const transaction = await ledger.send(updateInstructions(signer, mint, anchored, 0n));
  return { account: ledger.account(mint), authority, transaction };
}

/** The page's transaction as a node returns it; forgeries are derived from it. */
export function honestTransaction({ account, authority, transaction }: ExampleOnLedger): HonestTransaction {
  const { wire, signature } = transaction;
  return {
    transaction: {
      slot: 229_317_437,
      blockTime: EXAMPLE_TIME,
      meta: { err: null, innerInstructions: [] },
      transaction: [wire, 'base64'],
    },
    expected: {
      authority,
      collectionId: EXAMPLE_COLLECTION,
      signature,
      merkleRoot: EXAMPLE.root,
      version: EXAMPLE_VERSION,
    },
    mint: account.address,
    key: new LedgerKey(SECRET_KEY),
  };
}

/**
 * A proof from the page. The later ones are printed without the fields they share with the first.
 */
export function proofOn(page: FormatPage, block: string): RecordProof {
  const { proof } = JSON.parse(page.block('proof-of-presence')) as { proof: RecordProof };
  const { proof: own, ...rest } = JSON.parse(page.block(block)) as { proof?: RecordProof };
  return { ...proof, ...own, ...rest };
}

/** The page's proofs, as the base for proofs that must be refused. */
export function honestProofs(page: FormatPage): HonestProof[] {
  const { collection, records, root } = EXAMPLE;
  return Object.entries(PROOF_BLOCKS).map(([id, block]) => ({
    proof: proofOn(page, block),
    root,
    id,
    record: records.find((each) => each.id === id),
    prove: (other) => collection.prove(other),
  }));
}
