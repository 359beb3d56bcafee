import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { invalidHead, type ShardHead } from '../../../../lib/shard/head.ts';
import type { Anchoring } from '../../../../services/anchoring/anchoring.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import { until } from '../../../support/until.ts';
import { AnchoringFixture, headOf } from './fixture.ts';

const WAIT_MS = 20_000;

let fixture: AnchoringFixture;
let row: CollectionRow;
let anchoring: Anchoring;
/** What the shard reports as its head at the second cut. */
let atSecond: () => ShardHead | null;
let asked: number;

const halted = async () => (await fixture.store.anchors.get(row.id))?.halted?.reason ?? null;
const onChainVersion = async () => (await fixture.onChain(row))?.version;

/** The instance that signs the second root has confirmed a correct first root. */
beforeEach(async () => {
  fixture = await AnchoringFixture.open();
  row = await fixture.collection();
  asked = 0;
  anchoring = await fixture.start({
    headsAt: async (_, cut) => {
      if (cut[0]!.seq < 2) return cut;
      asked += 1;
      return [atSecond()];
    },
  });
  await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS);
  expect(await onChainVersion()).toBe(1);
});
afterEach(() => fixture.end());

test.each([
  ['was another', () => headOf(0, 2, 'forged')],
  ['stood against its stored bytes', () => invalidHead(2)],
])('a cut at which the shard %s is not signed, even if the store has no contradiction', async (_, said) => {
  atSecond = said;
  expect(await anchoring.submit(row.id, await fixture.commit(row), WAIT_MS)).toBeNull();
  expect(await halted()).toBe('Shard 0 contradicts the root to be anchored.');
  expect(await onChainVersion()).toBe(1);
});

test('a cut at which the shard does not know its state is signed once it does', async () => {
  atSecond = () => null;
  const cut = await fixture.commit(row);
  expect(await anchoring.submit(row.id, cut, 0)).toBeNull();
  await until('the shard was asked more than once', () => asked > 1);
  expect(await halted()).toBeNull();
  expect(await onChainVersion()).toBe(1);
  atSecond = () => cut[0]!;
  expect(await anchoring.submit(row.id, cut, WAIT_MS)).toMatchObject({ version: 2 });
});
