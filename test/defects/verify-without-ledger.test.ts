/** Seen in earlier systems: verify compares what is stored with what is stored, and never asks the ledger. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../lib/actions/verification.ts';
import type { Confirmed } from '../../lib/store/anchors.ts';
import { LedgerRelay } from '../support/ledger-relay.ts';
import { startService, type TestService } from '../support/service.ts';

const FORGED = 'ab'.repeat(32);

let relay: LedgerRelay;
let service: TestService;
let before: VerifyResult;
let collectionId: string;
const verify = async () => (await service.api<VerifyResult>('GET', '/collections/demo/verify')).body;

beforeAll(async () => {
  relay = await LedgerRelay.open();
  service = await startService(relay.environment);
  const { body } = await service.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'demo',
    dimensions: 2,
  });
  collectionId = body.collection.id;
  const records = [{ id: 'a', values: [1, 2], metadata: { n: 1 } }];
  await service.api('POST', '/collections/demo/upsert', { records });
  before = await verify();
  expect(before).toMatchObject({ state: 'match', verified: true });
});
afterAll(async () => {
  await service.stop();
  await relay.close();
});

/** Changes the root in every account that the ledger shows. */
function forgedRoot(method: string, answer: string): string {
  if (method !== 'getAccountInfo') return answer;
  const parsed = JSON.parse(answer) as { result: { value: { data: [string, string] } | null } };
  const { value } = parsed.result;
  if (value === null) return answer;
  const data = Buffer.from(value.data[0], 'base64');
  const at = data.indexOf(before.onChainRoot!);
  expect(at).toBeGreaterThan(0);
  data.write(FORGED, at);
  value.data[0] = data.toString('base64');
  return JSON.stringify(parsed);
}

test('every verify reads the account', async () => {
  let reads = 0;
  relay.rewrite = (method, answer) => {
    if (method === 'getAccountInfo') reads += 1;
    return answer;
  };
  for (let run = 1; run <= 2; run++) {
    const earlier = reads;
    await verify();
    expect(reads).toBeGreaterThan(earlier);
  }
  relay.rewrite = null;
});

test('another root on the ledger is shown, and is a mismatch', async () => {
  relay.rewrite = forgedRoot;
  expect(await verify()).toMatchObject({
    state: 'mismatch',
    verified: false,
    match: false,
    onChainRoot: FORGED,
    computedRoot: before.computedRoot,
  });
  relay.rewrite = null;
  expect(await verify()).toMatchObject({ state: 'match' });
});

test('what the store holds to be confirmed proves nothing when the ledger cannot be asked', async () => {
  relay.isDown = true;
  expect(await verify()).toMatchObject({ state: 'unreachable', verified: false, match: false, onChainRoot: null });
  relay.isDown = false;
  expect(await verify()).toMatchObject({ state: 'match' });
});

test('a changed row of the store is a mismatch, and stays one', async () => {
  const { anchors } = service.provec.store;
  const row = (await anchors.get(collectionId))!;
  const cut = row.confirmed!.cut.map((head) => ({ ...head, hash: Buffer.from(FORGED, 'hex') }));
  const confirmed: Confirmed = { ...row.confirmed!, cut, merkleRoot: FORGED };
  expect(await anchors.put({ ...row, revision: row.revision + 1, confirmed })).toBe(true);
  const mismatch = { state: 'mismatch', verified: false, onChainRoot: before.onChainRoot };
  expect(await verify()).toMatchObject(mismatch);
  await service.restart();
  expect(await verify()).toMatchObject(mismatch);
});
