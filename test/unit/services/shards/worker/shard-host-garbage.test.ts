/** When a worker collects garbage: all requests wait for it, for tens of milliseconds. */
import { expect, jest, test } from '@jest/globals';
import { type TestRecord, upsertOf } from '../../../../support/shard-engine.ts';

const collectGarbage = jest.fn();
jest.unstable_mockModule('../../../../../process/garbage.ts', () => ({ collectGarbage }));
const { HostHarness } = await import('./shard-host-harness.ts');

const WIDE = 8_192;
/** Building time between collections, on the harness's clock. */
const WORTH_IT_MS = 1_000;

test('garbage is collected after much building, not after each small piece of it', () => {
  const host = new HostHarness({ engine: { graphMinRecords: 64 } });
  const key = host.open('c');
  let collectedAtMs = host.nowMs;
  let pieces = 0;
  for (let first = 0; collectGarbage.mock.calls.length < 3; first += 200) {
    const records = Array.from({ length: 200 }, (_, i): [string, TestRecord] => {
      return [`r${first + i}`, { values: [1, first + i], metadata: {} }];
    });
    host.write(key, upsertOf(records, 2));
    const before = collectGarbage.mock.calls.length;
    host.settle();
    pieces++;
    if (collectGarbage.mock.calls.length === before) continue;
    expect(host.nowMs - collectedAtMs).toBeGreaterThanOrEqual(WORTH_IT_MS);
    collectedAtMs = host.nowMs;
  }
  expect(pieces).toBeGreaterThan(10);
});

test('and after many deletes, however little work they were', () => {
  const host = new HostHarness();
  const key = host.open('c', { dimensions: WIDE });
  const ids = Array.from({ length: 1_200 }, (_, i) => `r${i}`);
  const records = ids.map((id, i): [string, TestRecord] => {
    return [id, { values: [i, ...new Array<number>(WIDE - 1).fill(1)], metadata: {} }];
  });
  host.write(key, upsertOf(records, WIDE));
  host.settle();
  collectGarbage.mockClear();
  host.write(key, { kind: 'delete', ids: ids.slice(0, 100) });
  host.settle();
  expect(collectGarbage).not.toHaveBeenCalled();
  host.write(key, { kind: 'delete', ids: ids.slice(100) });
  host.settle();
  expect(collectGarbage).toHaveBeenCalledTimes(1);
});
