import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SYSTEM_CLOCK } from '../../../../../lib/time/clock.ts';
import { createRateLimiter } from '../../../../../services/anchoring/ledger/rate-limiter.ts';
import { LedgerUnreachableError, RpcPool } from '../../../../../services/anchoring/ledger/rpc-pool.ts';
import { batchedStatuses } from '../../../../../services/anchoring/ledger/signature-statuses.ts';
import { LedgerRelay } from '../../../../support/ledger-relay.ts';
import { until } from '../../../../support/until.ts';

let relay: LedgerRelay;
let asked: string[] = [];
beforeAll(async () => {
  relay = await LedgerRelay.open();
  relay.intercept = (passing) => {
    asked.push((JSON.parse(passing.asked) as { method: string }).method);
    return passing.forward();
  };
});
afterAll(() => relay.close());

const pool = (perSecond: number, burst: number) =>
  new RpcPool({ embedded: false, urls: () => [relay.url] }, SYSTEM_CLOCK.monotonicMs, { perSecond, burst });

test('calls pass up to a burst, then one per interval, and a pause restores the burst', async () => {
  let nowMs = 1_000;
  const pace = createRateLimiter({ perSecond: 10, burst: 3 }, () => nowMs);
  const { signal } = new AbortController();
  const atOnce = async () => {
    let turns = 0;
    while (await pace(0, signal)) turns += 1;
    return turns;
  };
  expect(await atOnce()).toBe(3);
  nowMs += 100;
  expect(await atOnce()).toBe(1);
  nowMs += 99;
  expect(await atOnce()).toBe(0);
  nowMs += 101;
  expect(await atOnce()).toBe(2);
  nowMs += 60_000;
  expect(await atOnce()).toBe(3);
});

test('a pause ends with the signal', async () => {
  const pace = createRateLimiter({ perSecond: 0.001, burst: 1 }, SYSTEM_CLOCK.monotonicMs);
  const stopped = new AbortController();
  expect(await pace(0, stopped.signal)).toBe(true);
  const waiting = pace(Number.POSITIVE_INFINITY, stopped.signal);
  stopped.abort();
  await expect(waiting).rejects.toThrow();
});

test('a pool stays within its rate, and refuses calls that would wait too long', async () => {
  const bounded = pool(20, 2);
  const height = () => bounded.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
  const startMs = performance.now();
  await Promise.all(Array.from({ length: 12 }, height));
  // Two at once, ten in sequence. Timers may fire slightly early.
  expect(performance.now() - startMs).toBeGreaterThan(490);
  const refused = pool(0.1, 1);
  const slow = () => refused.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
  await slow();
  await expect(slow()).rejects.toThrow(LedgerUnreachableError);
});

test('the statuses of hundreds of transactions take a few calls, and each gets its own', async () => {
  const client = await relay.client('authority');
  const statusOf = batchedStatuses(pool(1_000, 1_000));
  const { signature, wire } = await client.signCreate('00112233-4455-6677-8899-aabbccddeeff');
  await client.send(wire);
  const stranger = (await (await relay.client('stranger')).signClose('00112233-4455-6677-8899-aabbccddeeff')).signature;
  asked = [];
  const asking = Array.from({ length: 600 }, (_, at) => statusOf(at === 300 ? signature : stranger));
  const answers = await Promise.all(asking);
  expect(asked).toEqual(Array.from({ length: 3 }, () => 'getSignatureStatuses'));
  expect(answers.map(({ status }) => status).indexOf('confirmed')).toBe(300);
  expect(answers.filter(({ status }) => status === 'unknown')).toHaveLength(599);
});

test('calls that fail at the same time count as one failure of their endpoint', async () => {
  const paths: string[] = [];
  relay.intercept = (passing) => {
    paths.push(passing.path);
    return passing.path === '/bad' ? Promise.resolve('<html>') : passing.forward();
  };
  let nowMs = 0;
  const urls = [`${relay.url}/bad`, `${relay.url}/good`];
  const several = new RpcPool({ embedded: false, urls: () => urls }, () => nowMs);
  const height = () => several.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
  const isBadAsked = async () => {
    paths.length = 0;
    await height();
    return paths.includes('/bad');
  };
  await Promise.all(Array.from({ length: 32 }, height));
  nowMs += 249;
  expect(await isBadAsked()).toBe(false);
  nowMs += 1;
  expect(await isBadAsked()).toBe(true);
  // The pause doubles after the second failure in a row.
  nowMs += 499;
  expect(await isBadAsked()).toBe(false);
  nowMs += 1;
  expect(await isBadAsked()).toBe(true);
});

test('after its pause one call tests an endpoint, and the others do not wait for it', async () => {
  let held = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let isHeld = false;
  relay.intercept = async (passing) => {
    if (passing.path !== '/bad') return passing.forward();
    if (!isHeld) return '<html>';
    held += 1;
    await released;
    return passing.forward();
  };
  let nowMs = 0;
  const urls = [`${relay.url}/bad`, `${relay.url}/good`];
  const several = new RpcPool({ embedded: false, urls: () => urls }, () => nowMs);
  const height = () => several.call((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
  await height();
  nowMs += 250;
  isHeld = true;
  const probing = height();
  await until('it is asked', () => held > 0);
  await Promise.all(Array.from({ length: 8 }, height));
  expect(held).toBe(1);
  release();
  await probing;
  await Promise.all(Array.from({ length: 8 }, height));
  expect(held).toBe(9);
});

test('endpoints much slower than the first are not waited for, and failed ones are left out', async () => {
  const paths: string[] = [];
  let isBad = false;
  const ended = new AbortController();
  relay.intercept = async (passing) => {
    paths.push(passing.path);
    if (passing.path === '/slow' && !isBad && !ended.signal.aborted) await once(ended.signal, 'abort');
    return isBad && passing.path === '/slow' ? '<html>' : passing.forward();
  };
  let nowMs = 0;
  const urls = [`${relay.url}/slow`, `${relay.url}/good`];
  const several = new RpcPool({ embedded: false, urls: () => urls }, () => nowMs, undefined, 10);
  const heights = () => several.callEach((rpc, abortSignal) => rpc.getBlockHeight().send({ abortSignal }));
  const { answers, missing, cause } = await heights();
  ended.abort();
  expect({ answers: answers.length, missing }).toEqual({ answers: 1, missing: 1 });
  // The slow endpoint was aborted; it did not time out after a whole call.
  expect(cause).toMatchObject({ name: 'AbortError' });
  isBad = true;
  for (const asked of [2, 1]) {
    paths.length = 0;
    expect(await heights()).toMatchObject({ missing: 1 });
    expect(paths).toHaveLength(asked);
  }
  nowMs += 250;
  isBad = false;
  expect(await heights()).toMatchObject({ missing: 0 });
});
