/**
 * A proof whose path ends in another shard than the record's needs two calls to shards. The other
 * shard may be written to between them.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { verifyProof } from '../../../../../client/index.ts';
import { type Caller, call } from '../../../../../contracts/actions/call.ts';
import { collectionRoot } from '../../../../../lib/shard/collection-root.ts';
import { committedCut } from '../../../../../lib/shard/cut.ts';
import { type ShardSpec, shardSpec } from '../../../../../lib/shard/spec.ts';
import { proveRecord } from '../../../../../services/collections/reads/collection-proof.ts';
import { shardIndexOf } from '../../../../../services/collections/shard-routing.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { Harness } from '../harness.ts';

const SHARDS = 2;
const idsOf = (index: number) =>
  Array.from({ length: 100 }, (_, at) => `r${at}`).filter((id) => shardIndexOf(id, SHARDS) === index);
const [LONE, ...OTHERS] = idsOf(0);
const [ABSENT] = idsOf(1);

let harness: Harness;
let row: CollectionRow;
/** Calls to shards, each with the shard's index. */
let calls: string[];
/** Runs before each call. */
let before: (call: string) => Promise<unknown>;

beforeAll(async () => {
  harness = await Harness.open();
});
afterAll(() => harness.close());
beforeEach(async () => {
  const target = { accountId: await harness.account('free'), name: 'c' };
  const { id } = await harness.call('collections.create', { ...target, dimensions: 2, metric: 'dot', shards: SHARDS });
  row = (await harness.store.catalog.getCollection(id))!;
  calls = [];
  before = async () => undefined;
  await put(LONE!);
});

const put = (id: string) => {
  const batch = { ids: [id], dimensions: 2, vectors: Float32Array.of(1, 2), metadata: ['{}'] };
  return harness.call('shards.upsert', { shard: shardSpec(row, shardIndexOf(id, SHARDS)), batch, waitMs: 10_000 });
};
const caller: Caller = {
  async call(action, params, options) {
    const { shard } = params as { shard: { index: number } };
    const call = `${action} ${shard.index}`;
    calls.push(call);
    await before(call);
    return harness.broker.call(action, params, options);
  },
};
const headOf = (shard: ShardSpec) => call(caller, 'shards.head', { shard });
const END_OF_PATH = 'shards.prove 0';

test('an unchanged other shard: its lone record ends the path', async () => {
  const proof = await proveRecord(caller, row, { id: ABSENT!, namespace: '' }, false, headOf);
  expect(calls).toEqual(['shards.prove 1', 'shards.head 0', END_OF_PATH]);
  expect(verifyProof(proof.merkleRoot, proof, { id: ABSENT! })).toBe('absent');
});

test('a write to it between the two calls: the proof is made again, of the state after it', async () => {
  before = async (call) => {
    if (call === END_OF_PATH && calls.filter((each) => each === call).length === 1) await put(OTHERS[0]!);
  };
  const proof = await proveRecord(caller, row, { id: ABSENT!, namespace: '' }, false, headOf);
  const { merkleRoot, version } = collectionRoot(await committedCut(harness.store.log, row));
  expect(proof).toMatchObject({ merkleRoot, version, present: false });
  expect(verifyProof(merkleRoot, proof, { id: ABSENT! })).toBe('absent');
  expect(calls.filter((call) => call === 'shards.prove 1')).toHaveLength(2);
});

test('a write between the two calls that replaces the lone record: the proof is valid for the new root', async () => {
  before = async (call) => {
    if (call !== END_OF_PATH || calls.filter((each) => each === call).length > 1) return;
    await harness.call('shards.delete', { shard: shardSpec(row, 0), ids: [LONE!], waitMs: 10_000 });
    await put(OTHERS[0]!);
  };
  const proof = await proveRecord(caller, row, { id: ABSENT!, namespace: '' }, false, headOf);
  const { merkleRoot } = collectionRoot(await committedCut(harness.store.log, row));
  expect(verifyProof(merkleRoot, proof, { id: ABSENT! })).toBe('absent');
});

test('a write between the two calls each time: the caller is told to retry', async () => {
  before = async (call) => {
    if (call !== END_OF_PATH) return;
    await harness.call('shards.delete', { shard: shardSpec(row, 0), ids: [LONE!], waitMs: 10_000 });
    await put(LONE!);
  };
  await expect(proveRecord(caller, row, { id: ABSENT!, namespace: '' }, false, headOf)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
});
