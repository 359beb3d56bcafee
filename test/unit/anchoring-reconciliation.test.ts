import { expect, test } from '@jest/globals';
import { collectionRoot } from '../../lib/shard/collection-root.ts';
import type { Cut } from '../../lib/shard/shard-head.ts';
import type { Confirmed } from '../../lib/store/anchors.ts';
import { reconcile } from '../../services/anchoring/reconciliation.ts';
import { headOf } from './anchoring-fixture.ts';

const cutAt = (seq: number, salt = ''): Cut => [headOf(0, seq, salt)];
const confirmed: Confirmed = {
  cut: cutAt(1),
  ...collectionRoot(cutAt(1)),
  signature: 'signature',
  confirmedAt: '2026-11-21T00:00:00.000Z',
};
const onChain = (cut: Cut) => ({ status: 'found', fields: collectionRoot(cut) }) as const;
const belief = { confirmed, logged: cutAt(5), headsAt: async (cut: Cut) => cut };

test('a root that was given up for dead and is there all the same is taken for what it is', async () => {
  expect(await reconcile(onChain(cutAt(3)), { ...belief, buried: cutAt(3) })).toEqual({
    outcome: 'adopt',
    cut: cutAt(3),
  });
});

test.each([
  ['another root at its version', cutAt(3, 'other'), cutAt(3)],
  ['a version that nobody signed', cutAt(4), cutAt(3)],
  ['one that nothing was buried of', cutAt(3), null],
])('%s halts', async (_, there, buried) => {
  expect(await reconcile(onChain(there), { ...belief, buried })).toMatchObject({ outcome: 'halt', mayBeLag: false });
});

test('a buried root is not taken for newer than what was confirmed after it', async () => {
  const later = { ...confirmed, cut: cutAt(4), ...collectionRoot(cutAt(4)) };
  expect(await reconcile(onChain(cutAt(3)), { ...belief, confirmed: later, buried: cutAt(3) })).toMatchObject({
    outcome: 'halt',
  });
});
