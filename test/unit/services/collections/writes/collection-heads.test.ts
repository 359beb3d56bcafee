import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Harness } from '../harness.ts';

const SHARDS = 64;

let harness: Harness;
let target: { accountId: string; name: string };
/** Number of reads of heads in the log, and of calls to shards. */
let [readings, asked] = [0, 0];
beforeAll(async () => {
  harness = await Harness.open();
  target = { accountId: await harness.account('enterprise'), name: 'c' };
  await harness.call('collections.create', { ...target, dimensions: 2, shards: SHARDS });
  const { log } = harness.store;
  const { heads } = log;
  log.heads = (collectionId) => {
    readings++;
    return heads(collectionId);
  };
  const { of } = harness.shards;
  harness.shards.of = (...shard) => {
    asked++;
    return of.apply(harness.shards, shard);
  };
});
afterAll(() => harness.close());
beforeEach(() => {
  [readings, asked] = [0, 0];
});

test('requests for one collection share a read of its heads', async () => {
  await Promise.all(Array.from({ length: 20 }, () => harness.call('collections.get', target)));
  expect(readings).toBeLessThan(6);
});

test('proofs of one collection share the heads of its other shards', async () => {
  const proof = () => harness.call('collections.proof', { ...target, id: 'absent' });
  const { merkleRoot } = await proof();
  asked = 0;
  const proofs = await Promise.all(Array.from({ length: 20 }, proof));
  expect(proofs.map((each) => each.merkleRoot)).toEqual(Array.from({ length: 20 }, () => merkleRoot));
  // Twenty paths, but only a few rounds of heads.
  expect(asked).toBeLessThan(20 + 6 * SHARDS);
});
