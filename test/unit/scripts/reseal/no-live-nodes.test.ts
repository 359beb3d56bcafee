import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { ownIdentity, type ProcessIdentity } from '../../../../lib/host/process-identity.ts';
import { assertNoLiveNodes, NodesAlive } from '../../../../scripts/reseal/no-live-nodes.ts';
import type { Store } from '../../../../store/port.ts';
import { openTemporaryStore } from '../../../support/world.ts';

let store: Store;
let destroy: () => Promise<void>;
/** Time that only pauses advance. `meanwhile` runs first in each pause. */
let nowMs = 0;

beforeEach(async () => {
  ({ store, destroy } = await openTemporaryStore());
  nowMs = 0;
});
afterEach(() => destroy());

const ELSEWHERE: ProcessIdentity = { pid: 1, startedAt: '1', place: 'another machine' };

const begin = (process: ProcessIdentity, incarnation = 'one') =>
  store.leases.begin({ node: 'shards-1', incarnation, beat: 1, process, draining: false });

function alone(meanwhile: (atMs: number) => Promise<unknown> = async () => undefined): Promise<void> {
  const pause = async (ms: number): Promise<void> => {
    nowMs += ms;
    await meanwhile(nowMs);
  };
  return assertNoLiveNodes(store, pause, () => nowMs);
}

test('if no node ever existed, or all ended, there is no wait', async () => {
  await alone();
  expect(nowMs).toBe(0);
});

test('a process on this machine is looked up: a running one is at work, whatever its beat', async () => {
  const own = await ownIdentity();
  await begin(own);
  await expect(alone()).rejects.toThrow(
    new NodesAlive('The node shards-1 is at work on the store: stop every process of Provec first.'),
  );
  await store.leases.end('one');
  await begin({ ...own, startedAt: 'at another time' });
  await alone();
  expect(nowMs).toBe(0);
});

test('the beat of a process elsewhere must be unchanged for as long as nodes wait for each other', async () => {
  await begin(ELSEWHERE);
  await alone();
  expect(nowMs).toBeGreaterThanOrEqual(7_500);
});

test('an advancing beat, and a node that joins meanwhile, are at work', async () => {
  await begin(ELSEWHERE);
  await expect(alone((atMs) => store.leases.renew('one', atMs >= 2_000 ? 2 : 1, false))).rejects.toThrow(NodesAlive);
  nowMs = 0;
  await expect(alone(() => begin(ELSEWHERE, 'two'))).rejects.toThrow(NodesAlive);
});

test('so is an anchoring service whose beat advances', async () => {
  const beat = (number: number) => store.anchors.beat({ instance: 'one', beat: number, confirmed: 0, failures: 0 });
  await beat(1);
  await alone();
  await expect(alone(beat)).rejects.toThrow(/An anchoring service/);
});
