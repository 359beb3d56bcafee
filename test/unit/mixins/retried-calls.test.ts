import { expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { retriedCalls } from '../../../mixins/retried-calls.ts';

type Options = { timeout?: number };
type Call = (action: string, params?: unknown, options?: Options) => Promise<unknown>;
const { call: wrap } = retriedCalls as unknown as { call(next: Call): Call };
const unserved = () => new Errors.ServiceNotAvailableError({ action: 'keys.page', nodeID: 'gone' });

/**
 * A broker whose first node is leaving. Like Moleculer, it writes its default timeout into the
 * options.
 */
function leaving(defaultMs: number) {
  const timeouts: (number | undefined)[] = [];
  const call = wrap(async (_action, _params, options = {}) => {
    timeouts.push(options.timeout);
    options.timeout ??= defaultMs;
    if (timeouts.length === 1) throw unserved();
    return 'done';
  });
  return { call, timeouts };
}

test('a call without a timeout is retried without one', async () => {
  const { call, timeouts } = leaving(60_000);
  expect(await call('keys.page', {}, {})).toBe('done');
  expect(timeouts[0]).toBeUndefined();
  // The broker's default, or nothing; never a timeout that has already expired.
  expect(timeouts[1] ?? 60_000).toBe(60_000);
});

test('a call with a timeout is retried with the time left', async () => {
  const { call, timeouts } = leaving(60_000);
  expect(await call('keys.page', {}, { timeout: 30_000 })).toBe('done');
  expect(timeouts[0]).toBe(30_000);
  expect(timeouts[1]).toBeGreaterThan(1_000);
  expect(timeouts[1]).toBeLessThanOrEqual(30_000);
});

/** A broker whose first node dies during the call, or during a nested call. */
function dying(failed: string) {
  const called: string[] = [];
  const call = wrap(async (action) => {
    called.push(action);
    if (called.length === 1) throw new Errors.RequestRejectedError({ action: failed, nodeID: 'gone' });
    return 'done';
  });
  return { call, called };
}

test('a read lost with its node is retried', async () => {
  const { call, called } = dying('keys.page');
  expect(await call('keys.page')).toBe('done');
  expect(called).toEqual(['keys.page', 'keys.page']);
});

test.each([
  ['with an unknown outcome', 'keys.create', 'keys.create'],
  ['whose own call was lost', 'collections.get', 'keys.plan'],
])('a call %s is not retried', async (_, action, failed) => {
  const { call, called } = dying(failed);
  await expect(call(action)).rejects.toMatchObject({ name: 'RequestRejectedError' });
  expect(called).toHaveLength(1);
});
