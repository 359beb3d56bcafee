import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { INTERNAL_LIMITS } from '../../../../../lib/limits.ts';
import { StoreError } from '../../../../../store/port.ts';
import { eventually, isPending, ManualClock, rejectedError } from '../../../../support/accounts.ts';
import { Harness } from '../harness.ts';

const ANCHOR_WAIT_MS = 60_000;
const PENDING = { status: 'pending', signature: null, explorerUrl: null } as const;

let clock: ManualClock;
let harness: Harness;
let target: { accountId: string; name: string };
let collectionId: string;
/** Writes in the shard wait for this before they begin. */
let begun: Promise<void>;
let begin: () => void;
/** Whatever hangs during a test ends after this. */
let ended: Promise<void>;
let end: () => void;

beforeEach(async () => {
  clock = new ManualClock();
  harness = await Harness.open({ PROVEC_ANCHOR_WAIT_MS: String(ANCHOR_WAIT_MS) }, clock);
  target = { accountId: await harness.account('pro'), name: 'docs' };
  const options = { dimensions: 1, metric: 'dot', shards: 2 } as const;
  collectionId = (await harness.call('collections.create', { ...target, ...options })).id;
  begun = new Promise((resolve) => {
    begin = resolve;
  });
  ended = new Promise((resolve) => {
    end = resolve;
  });
  harness.shards.hang = { action: 'shards.upsert', until: begun };
});
afterEach(() => {
  jest.useRealTimers();
  begin();
  end();
  return harness.close();
});

/** Starts an upsert and waits until the shard has received it. */
async function upsert(options = {}) {
  const answer = harness.call('collections.upsert', { ...target, records: [{ id: 'a', values: [1] }] }, options);
  // The caller handles a rejection later.
  answer.catch(() => undefined);
  await eventually(() => harness.shards.calls.includes('shards.upsert'));
  return { answer };
}

/** Fakes `setTimeout` only; every other clock keeps running. */
function fakeTimeouts(): void {
  jest.useFakeTimers({
    doNotFake: ['hrtime', 'nextTick', 'performance', 'queueMicrotask', 'setImmediate', 'setInterval', 'clearInterval'],
  });
}

const submitted = () => harness.anchoring.submitted.map(({ waitMs }) => waitMs);

test('a single write has the full time for its commit, and then the full wait for its anchor', async () => {
  const { answer } = await upsert();
  clock.advance(INTERNAL_LIMITS.actionTimeoutMs);
  begin();
  expect(await answer).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
  expect(submitted()).toEqual([ANCHOR_WAIT_MS]);
});

test("the wait for the anchor ends when the caller's time is up, less what the answer needs", async () => {
  const { answer } = await upsert({ timeout: 60_000 });
  clock.advance(50_000);
  begin();
  expect(await answer).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
  expect(submitted()).toEqual([5_000]);
});

test('a committed write is answered in time, whatever anchoring does', async () => {
  fakeTimeouts();
  harness.anchoring.answer = () => ended.then(() => PENDING);
  const { answer } = await upsert({ timeout: 60_000 });
  clock.advance(50_000);
  begin();
  await eventually(() => submitted().length === 1);
  expect(await isPending(answer)).toBe(true);
  jest.advanceTimersByTime(5_000);
  expect(await isPending(answer)).toBe(false);
  expect(await answer).toMatchObject({ upsertedCount: 1, anchor: { status: 'pending' } });
});

test('a write committed after its caller was told that it is late is still anchored', async () => {
  const { answer } = await upsert({ timeout: 40 });
  expect((await rejectedError(answer)).code).toBe('UNAVAILABLE');
  expect(submitted()).toEqual([]);
  clock.advance(40);
  begin();
  await eventually(() => submitted().length > 0);
  expect(submitted()).toEqual([0]);
  const [{ cut }] = harness.anchoring.submitted;
  expect(cut.map(({ seq }) => seq).sort()).toEqual([0, 1]);
});

test("another shard's owner that does not answer for its head delays a committed write, but does not fail it", async () => {
  fakeTimeouts();
  harness.shards.hang = { action: 'shards.head', until: ended };
  const { answer } = await upsert();
  await eventually(async () => (await harness.store.log.heads(collectionId)).size === 1);
  expect(await isPending(answer)).toBe(true);
  jest.advanceTimersByTime(INTERNAL_LIMITS.actionTimeoutMs);
  expect(await answer).toMatchObject({ upsertedCount: 1, version: 1, anchor: { status: 'pending' } });
});

test('a store that does not return the root at once delays a committed write, but does not fail it', async () => {
  const { log } = harness.store;
  const { heads } = log;
  let failures = 0;
  harness.shards.fault = { action: 'shards.head', index: 1, when: 'before' };
  const { answer } = await upsert();
  log.heads = (id) => {
    if (failures++ < 3) return Promise.reject(new StoreError('unavailable', 'The primary is away.'));
    return heads.call(log, id);
  };
  begin();
  expect(await answer).toMatchObject({ upsertedCount: 1, version: 1, anchor: { status: 'pending' } });
  expect(failures).toBeGreaterThan(3);
});

test('if the root does not arrive in time the write is still anchored', async () => {
  const { log } = harness.store;
  const { heads } = log;
  harness.shards.hang = null;
  harness.shards.fault = { action: 'shards.head', index: 1, when: 'before' };
  let isAway = true;
  log.heads = (id) => (isAway ? Promise.reject(new StoreError('unavailable', 'Away.')) : heads.call(log, id));
  const answer = harness.call('collections.upsert', { ...target, records: [{ id: 'a', values: [1] }] });
  answer.catch(() => undefined);
  await eventually(async () => (await heads.call(log, collectionId)).size === 1);
  clock.advance(10 * ANCHOR_WAIT_MS);
  expect((await rejectedError(answer)).message).toContain('The service stored the write');
  isAway = false;
  await eventually(() => submitted().length > 0);
  expect(submitted()).toEqual([0]);
});
