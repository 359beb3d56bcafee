import { expect, test } from '@jest/globals';
import type { Caller } from '../../../../contracts/actions/call.ts';
import { ShardCallPace } from '../../../../services/collections/paced-caller.ts';
import { Harness } from './harness.ts';

const WIDE = { accountId: 'noisy', shards: 256 };
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A caller that records its calls. */
function noting(signal?: AbortSignal): Caller & { calls: string[] } {
  const calls: string[] = [];
  const call = async (action: string) => void calls.push(action);
  return { calls, call, ...(signal && { signal }) };
}

test("a few of a large collection's calls begin in each turn", async () => {
  const pace = new ShardCallPace();
  const caller = noting();
  const asked = Array.from({ length: 4 * WIDE.shards }, () => pace.of(caller, WIDE).call('shards.read'));
  let most = 0;
  for (let before = 0; before < asked.length; before = caller.calls.length) {
    await nextTurn();
    most = Math.max(most, caller.calls.length - before);
  }
  await Promise.all(asked);
  // At most two turns between two checks.
  expect(most).toBeLessThanOrEqual(20);
});

test("another account's calls run in between", async () => {
  const pace = new ShardCallPace();
  const [noisy, calm] = [noting(), noting()];
  const asked = Array.from({ length: 4 * WIDE.shards }, () => pace.of(noisy, WIDE).call('shards.read'));
  await nextTurn();
  await pace.of(calm, { ...WIDE, accountId: 'calm' }).call('shards.read');
  expect(noisy.calls.length).toBeLessThan(asked.length / 4);
  await Promise.all(asked);
});

test('a collection with few shards, and calls not to a shard, do not wait', async () => {
  const pace = new ShardCallPace();
  const caller = noting();
  void pace.of(caller, WIDE).call('anchoring.state');
  void pace.of(caller, { ...WIDE, shards: 8 }).call('shards.read');
  expect(caller.calls).toEqual(['anchoring.state', 'shards.read']);
});

test('no call begins after the request was cancelled', async () => {
  const pace = new ShardCallPace();
  const work = new AbortController();
  const caller = noting(work.signal);
  const asked = pace.of(caller, WIDE).call('shards.read');
  work.abort(new Error('gone'));
  await expect(asked).rejects.toThrow('gone');
  expect(caller.calls).toEqual([]);
});

test('a few calls for an export begin in each turn, whichever part it reads, keeps or leaves', async () => {
  const harness = await Harness.open();
  try {
    const target = { accountId: await harness.account('enterprise'), name: 'wide' };
    const { id } = await harness.call('collections.create', { ...target, dimensions: 2, shards: WIDE.shards });
    const { calls } = harness.shards;
    const rests = Array.from({ length: WIDE.shards }, (_, index) => ({ index, rest: 'r' }));
    const at = { collectionId: id, rests, merkleRoot: '', count: 0, partMaxBytes: 4_096 };
    for (const action of ['export', 'keepExport', 'leaveExport'] as const) {
      calls.length = 0;
      const asked = harness.call(`collections.${action}`, { ...target, at });
      let most = 0;
      for (let before = 0; before < WIDE.shards; before = calls.length) {
        await nextTurn();
        most = Math.max(most, calls.length - before);
      }
      await asked;
      expect(most).toBeLessThanOrEqual(20);
    }
  } finally {
    await harness.close();
  }
});
