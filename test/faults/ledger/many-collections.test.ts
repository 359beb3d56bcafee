import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AnchorsPage, UpsertResult } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { isThorough } from '../../support/effort.ts';
import type { LedgerRelay } from '../../support/ledger-relay.ts';
import { referenceLeaf, referenceRoot } from '../../support/reference-root.ts';
import { startService, type TestService } from '../../support/service.ts';
import type { TransactionWatch } from '../../support/transaction-watch.ts';
import { watchedCollections, watchedLedger } from '../../support/watched-ledger.ts';

const COLLECTIONS = isThorough ? 200 : 10;
const WRITERS = 3;
const ROUNDS = 2;

let relay: LedgerRelay;
let watch: TransactionWatch;
let service: TestService;
let ids: Map<string, string>;
let names: string[];

beforeAll(async () => {
  ({ relay, watch } = await watchedLedger((number) => number % 5 === 0));
  service = await startService({ ...relay.environment, PROVEC_ANCHOR_WAIT_MS: '60000' });
  ids = await watchedCollections(service.api, watch, COLLECTIONS);
  names = [...ids.keys()];
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

const recordOf = (writer: number, round: number) => ({
  id: `${writer}-${round}`,
  values: [writer + 1, round],
  metadata: { round },
});

test(`${COLLECTIONS} collections are written at once, and the root of every write is confirmed`, async () => {
  const write = async (name: string, writer: number) => {
    for (let round = 0; round < ROUNDS; round++) {
      const records = [recordOf(writer, round)];
      const { status, body } = await service.api<UpsertResult>('POST', `/collections/${name}/upsert`, { records });
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { anchor: { status: 'confirmed' }, ledgerTx: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{64,88}$/) },
      });
    }
  };
  await Promise.all(names.flatMap((name) => Array.from({ length: WRITERS }, (_, writer) => write(name, writer))));
});

test('no collection ever had two transactions in flight, and no version decreased', () => {
  expect(watch.breaches).toEqual([]);
  for (const name of names) {
    const versions = watch.versions.get(ids.get(name)!)!;
    expect(versions.length).toBeGreaterThan(0);
  }
});

test('the ledger has what was written, and the history has each transaction once', async () => {
  const records = Array.from({ length: WRITERS }, (_, writer) =>
    Array.from({ length: ROUNDS }, (_, round) => recordOf(writer, round)),
  ).flat();
  const root = referenceRoot(records.map(({ id, values, metadata }) => referenceLeaf(id, values, metadata)));
  for (const name of names) {
    const { body } = await service.api<VerifyResult>('GET', `/collections/${name}/verify`);
    expect(body).toMatchObject({ state: 'match', onChainRoot: root, vectorCount: records.length });
    const { anchors } = (await service.api<AnchorsPage>('GET', `/collections/${name}/anchors?limit=1000`)).body;
    const versions = anchors.map(({ version }) => version);
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => b - a));
    const transactions = anchors.map(({ ledgerTx }) => ledgerTx);
    expect(new Set(transactions).size).toBe(transactions.length);
    const sent = new Set<string>(watch.sent.get(ids.get(name)!)!.map(({ signature }) => signature));
    expect(transactions.filter((transaction) => !sent.has(transaction))).toEqual([]);
  }
});
