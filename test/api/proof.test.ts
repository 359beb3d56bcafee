import { beforeAll, describe, expect, test } from '@jest/globals';
import { VerificationError, verifyAccount, verifyOnLedger, verifyProof } from '../../client/index.ts';
import type { AnchorsPage, CollectionDetail, RecordProof, UpsertResult } from '../../contracts/actions/collections.ts';
import { Content } from '../support/content.ts';
import { ledgerAccount } from '../support/ledger-account.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const record = (at: number) => ({ id: `r${at}`, values: [1, at], metadata: { at, text: 'ü🧭' } });

let service: SharedService;
let authority: string;
beforeAll(async () => {
  service = await shareService('anchored');
  authority = service.ledger!.authority;
});

describe.each([1, 2, 8, 64])('over %i shards', (shards) => {
  const path = `/collections/proof-${shards}`;
  const content = new Content();
  let collectionId = '';
  const prove = async (id: string) => {
    const answer = await service.api<{ proof: RecordProof }>('GET', `${path}/proof?id=${encodeURIComponent(id)}`);
    expect(answer).toMatchObject({ status: 200, body: { proof: { format: 'PV1', id } } });
    return answer.body.proof;
  };
  /** The root on the ledger, read without the service. */
  const anchorOnLedger = async (ledgerAddress: string | null) =>
    verifyAccount((await ledgerAccount(service, ledgerAddress!))!, { authority, collectionId });

  beforeAll(async () => {
    const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
      name: `proof-${shards}`,
      dimensions: 2,
      shards,
    });
    collectionId = body.collection.id;
  });

  test('every id is absent from an empty collection', async () => {
    const proof = await prove('r0');
    expect(proof).toMatchObject({ present: false, siblings: [], terminal: null, version: 0 });
    expect(verifyProof('0'.repeat(64), proof, { id: 'r0' })).toBe('absent');
    const readAccount = (address: string) => ledgerAccount(service, address);
    await expect(verifyOnLedger(proof, { id: 'r0' }, { authority, collectionId, readAccount })).rejects.toThrow(
      /^There is no account \w+ on the ledger: no root of the collection was anchored so far, or it was deleted\.$/,
    );
  });

  test.each([1, 2, 3, 9, 40])(
    'proves each of %i records present and others absent, against the root on the ledger',
    async (count) => {
      const records = Array.from({ length: count }, (_, at) => record(at));
      await service.api('POST', `${path}/upsert`, { records });
      content.upsert(records);
      for (const { id, values, metadata } of records) {
        const proof = await prove(id);
        const anchor = await anchorOnLedger(proof.ledgerAddress);
        expect(anchor).toMatchObject({ merkleRoot: content.root, version: proof.version, vectorCount: count });
        expect(proof).toMatchObject({ present: true, collectionId });
        expect(verifyProof(anchor.merkleRoot, proof, { id, values, metadata })).toBe('present');
      }
      for (let at = 0; at < 24; at++) {
        const proof = await prove(`absent-${at}`);
        expect(proof.present).toBe(false);
        expect(verifyProof(content.root, proof, { id: `absent-${at}` })).toBe('absent');
      }
    },
  );

  test('does not prove other values, other metadata or another id, or lead to an older root', async () => {
    const proof = await prove('r5');
    const { id, values, metadata } = record(5);
    const root = content.root;
    expect(() => verifyProof(root, proof, { id, values: [1, 5.0001], metadata })).toThrow(VerificationError);
    expect(() => verifyProof(root, proof, { id, values, metadata: { ...metadata, at: 6 } })).toThrow(VerificationError);
    expect(() => verifyProof(root, proof, { id: 'r6' })).toThrow(VerificationError);
    await service.api('POST', `${path}/delete`, { ids: ['r5'] });
    content.delete(['r5']);
    expect(() => verifyProof(content.root, proof)).toThrow(VerificationError);
    expect(verifyProof(content.root, await prove('r5'), { id: 'r5' })).toBe('absent');
  });

  test('names the transaction that wrote its root, as the write and the list of anchors do', async () => {
    const written = await service.api<UpsertResult>('POST', `${path}/upsert`, { records: [record(41)] });
    content.upsert([record(41)]);
    const { ledgerTx, merkleRoot, version } = written.body;
    expect(ledgerTx).toEqual(expect.any(String));
    for (const id of ['r41', 'r1', 'absent']) expect(await prove(id)).toMatchObject({ ledgerTx, merkleRoot, version });
    const { anchors } = (await service.api<AnchorsPage>('GET', `${path}/anchors?limit=1`)).body;
    expect(anchors).toMatchObject([{ ledgerTx, merkleRoot, version }]);
  });

  test('verify?id= returns the same proof', async () => {
    for (const id of ['r7', 'absent', 'a/b?c&d=e 🧭']) {
      const { status, body } = await service.api('GET', `${path}/verify?id=${encodeURIComponent(id)}`);
      expect({ status, body }).toEqual({ status: 200, body: { proof: await prove(id) } });
    }
  });

  test('proves any id', async () => {
    const ids = ['__proto__', '🧭', 'a+b%20c', 'x'.repeat(512), '/'];
    const records = ids.map((id) => ({ id, values: [0, 1] }));
    await service.api('POST', `${path}/upsert`, { records });
    content.upsert(records);
    for (const id of ids) {
      expect(verifyProof(content.root, await prove(id), { id, values: [0, 1], metadata: {} })).toBe('present');
    }
  });

  test("has the collection's address, and the service's claims match the ledger", async () => {
    const { collection } = (await service.api<{ collection: CollectionDetail }>('GET', path)).body;
    const { ledgerAddress } = collection.anchor;
    const { merkleRoot, version, vector_count: vectorCount } = collection;
    expect(await anchorOnLedger(ledgerAddress)).toMatchObject({ merkleRoot, version, vectorCount });
    const account = (await ledgerAccount(service, ledgerAddress!))!;
    const otherId = '11111111-2222-4333-8444-555555555555';
    expect(() => verifyAccount(account, { authority, collectionId: otherId })).toThrow(VerificationError);
  });
});

test('without anchoring the proof leads to the root that the write returned', async () => {
  const { api } = await createTenant(service, 'free');
  await api('POST', '/collections', { name: 'free', dimensions: 2, shards: 4 });
  const records = [record(1), record(2)];
  const { body: written } = await api('POST', '/collections/free/upsert', { records });
  const { proof } = (await api<{ proof: RecordProof }>('GET', '/collections/free/proof?id=r1')).body;
  expect([proof.ledgerAddress, proof.ledgerTx]).toEqual([null, null]);
  expect(verifyProof(written.merkleRoot as string, proof, record(1))).toBe('present');
});

test.each([
  ['/proof', 'id'],
  ['/proof?id=', 'id'],
  [`/proof?id=${'x'.repeat(513)}`, 'id'],
  ['/proof?id=a&id=b', 'id'],
  ['/proof?id=a&depth=1', 'depth'],
  ['/verify?ids=a', 'ids'],
])('%s is refused', async (below, path) => {
  expect(await service.api('GET', `/collections/proof-1${below}`)).toEqual(refusalOf(path));
});

test('returns 404 for an unknown collection', async () => {
  expect(await service.api('GET', '/collections/never/proof?id=a')).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
});
