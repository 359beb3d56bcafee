/**
 * A proof that was kept while its collection was written to, and forgeries of it by a service, a
 * forger or a ledger node.
 */
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { getBase58Decoder } from '@solana/web3.js';
import { leafHashOf } from '../../client/verify/content-hash.ts';
import type { AnchorsPage, CollectionDetail, RecordProof, UpsertResult } from '../../contracts/actions/collections.ts';
import { askLedger } from './ledger-account.ts';
import type { SharedService } from './shared-service.ts';

export const KEPT_VERSION = 5;
export const NEWEST_VERSION = 9;
export const KEPT_RECORD = { id: 'kept', values: [0.25, -1], metadata: { text: 'kept' } };

export interface KeptProof {
  proof: RecordProof;
  /** Proof that an id is absent. */
  absence: RecordProof;
  collection: CollectionDetail;
  /** Anchors by version. */
  anchors: Map<number, AnchorsPage['anchors'][number]>;
  /** The ledger's response for the transaction of the proof. */
  transaction: TransactionAnswer;
}

interface TransactionAnswer {
  blockTime: number;
  meta: { err: unknown };
  transaction: [string, string];
}

type Options = { commitment?: string };
/** Responses of a ledger node for transactions. */
export type AnswerOf = (signature: string, options: Options) => unknown;

/** Writes JSON to a folder and returns the file's path. */
export async function jsonFile(folder: string, name: string, content: unknown): Promise<string> {
  const path = join(folder, `${name}.json`);
  await writeFile(path, JSON.stringify(content));
  return path;
}

/** Writes up to version 5, keeps a proof of it, and continues to version 9. */
export async function keepProof(service: SharedService, name: string): Promise<KeptProof> {
  const path = `/collections/${name}`;
  await service.api('POST', '/collections', { name, dimensions: 2, shards: 1 });
  const write = async (version: number) => {
    const records = [version === KEPT_VERSION ? KEPT_RECORD : { id: `r${version}`, values: [1, version] }];
    const { body } = await service.api<UpsertResult>('POST', `${path}/upsert`, { records });
    if (body.version !== version || body.ledgerTx === null) throw new Error(`not anchored: ${JSON.stringify(body)}`);
  };
  const prove = async (id: string) =>
    (await service.api<{ proof: RecordProof }>('GET', `${path}/proof?id=${id}`)).body.proof;
  for (let version = 1; version <= KEPT_VERSION; version++) await write(version);
  const proof = await prove(KEPT_RECORD.id);
  const absence = await prove('absent');
  for (let version = KEPT_VERSION + 1; version <= NEWEST_VERSION; version++) await write(version);
  const { collection } = (await service.api<{ collection: CollectionDetail }>('GET', path)).body;
  const { anchors } = (await service.api<AnchorsPage>('GET', `${path}/anchors`)).body;
  const options = { encoding: 'base64', commitment: 'finalized' };
  return {
    proof,
    absence,
    collection,
    anchors: new Map(anchors.map((anchor) => [anchor.version, anchor])),
    transaction: await askLedger(service, 'getTransaction', [proof.ledgerTx, options]),
  };
}

/** Time when the kept version was anchored, from the ledger. */
export const anchoredAt = ({ transaction }: KeptProof): string =>
  new Date(transaction.blockTime * 1000).toISOString().replace('.000', '');

interface Forgery {
  proof: unknown;
  answerOf?: AnswerOf;
}

/**
 * Each gets the kept proof and a proof of another collection at the same version. All results must
 * be refused.
 */
export const KEPT_FORGERIES: Readonly<Record<string, (kept: KeptProof, other: KeptProof) => Forgery>> = {
  'no transaction': ({ proof }) => ({ proof: { ...proof, ledgerTx: null } }),
  'of an older version, no transaction': ({ proof: { ledgerTx: _, ...proof } }) => ({ proof }),
  'the transaction of another version': ({ proof, anchors }) => ({
    proof: { ...proof, ledgerTx: anchors.get(KEPT_VERSION + 1)!.ledgerTx },
  }),
  'the transaction of another collection': ({ proof }, other) => ({
    proof: { ...proof, ledgerTx: other.proof.ledgerTx },
  }),
  'the root and version of another collection, and its transaction': ({ proof }, { proof: other }) => ({
    proof: { ...other, collectionId: proof.collectionId, ledgerAddress: proof.ledgerAddress },
  }),
  'another version': ({ proof }) => ({ proof: { ...proof, version: KEPT_VERSION + 1 } }),
  'another root': ({ proof }) => ({ proof: { ...proof, merkleRoot: 'ab'.repeat(32) } }),
  'what another version anchored': ({ proof, anchors }) => {
    const { version, merkleRoot, ledgerTx } = anchors.get(KEPT_VERSION + 1)!;
    return { proof: { ...proof, version, merkleRoot, ledgerTx } };
  },
  'a transaction that nobody made': ({ proof }) => ({ proof: { ...proof, ledgerTx: '1'.repeat(64) } }),
  'a transaction that is not final': ({ proof, transaction }) => ({
    proof,
    answerOf: (_, { commitment }) => (commitment === 'finalized' ? null : transaction),
  }),
  'a transaction that failed': ({ proof, transaction }) => ({
    proof,
    answerOf: () => ({ ...transaction, meta: { ...transaction.meta, err: { InstructionError: [1, 'Custom'] } } }),
  }),
  'the answer for another transaction': ({ proof }, other) => ({ proof, answerOf: () => other.transaction }),
  'a transaction that is cut off': ({ proof, transaction }) => ({
    proof,
    answerOf: () => ({ ...transaction, transaction: [transaction.transaction[0].slice(0, -4), 'base64'] }),
  }),
  'a root that nobody signed, under the signature of the transaction': (kept) => inventedRoot(kept),
  'a root and a signature that nobody made': (kept) => inventedRoot(kept, Buffer.alloc(64, 7)),
};

/** A proof of a root that the service never had, and the transaction that would have written it. */
function inventedRoot({ proof, transaction }: KeptProof, signature?: Buffer): Forgery {
  const { key, vecHash, metaHash } = proof.terminal!;
  const [keyHash, vector, metadata] = [key, vecHash, metaHash].map((hash) => Buffer.from(hash, 'hex'));
  const merkleRoot = Buffer.from(leafHashOf(keyHash!, vector!, metadata!)).toString('hex');
  const bytes = Buffer.from(transaction.transaction[0], 'base64');
  bytes.write(merkleRoot, bytes.indexOf(proof.merkleRoot));
  signature?.copy(bytes, 1);
  return {
    proof: {
      ...proof,
      siblings: [],
      merkleRoot,
      ledgerTx: signature ? getBase58Decoder().decode(signature) : proof.ledgerTx,
    },
    answerOf: () => ({ ...transaction, transaction: [bytes.toString('base64'), 'base64'] }),
  };
}

/** A node of the ledger that forwards everything except its answers about transactions. */
export async function forgingNode(ledgerUrl: string, answerOf: AnswerOf) {
  const server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: [string, Options] };
      if (method === 'getTransaction') {
        const result = answerOf(...params);
        return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      }
      const headers = { 'content-type': 'application/json' };
      return response.end(await (await fetch(ledgerUrl, { method: 'POST', headers, body })).text());
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
