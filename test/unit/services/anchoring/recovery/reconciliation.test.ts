import { describe, expect, test } from '@jest/globals';
import { type AnchoredRoot, collectionRoot } from '../../../../../lib/shard/collection-root.ts';
import type { Cut } from '../../../../../lib/shard/head.ts';
import { reconcile } from '../../../../../services/anchoring/recovery/reconciliation.ts';
import type { ConfirmedAnchor } from '../../../../../store/anchors.ts';
import { headOf } from '../fixture.ts';

const cutAt = (seq: number, salt = ''): Cut => [headOf(0, seq, salt)];
const anchored = (cut: Cut, decisions = 4): AnchoredRoot => ({ ...collectionRoot(cut), decisions });
const confirmed: ConfirmedAnchor = {
  cut: cutAt(1),
  ...anchored(cutAt(1)),
  signature: 'signature',
  confirmedAt: '2026-11-21T00:00:00.000Z',
};
const onChain = (cut: Cut, decisions?: number) => ({ status: 'found', fields: anchored(cut, decisions) }) as const;
const stored = { confirmed, lapsed: null, logged: cutAt(5), headsAt: async (cut: Cut) => cut };

test('a newer root that the log holds is recognised', async () => {
  expect(await reconcile(onChain(cutAt(5)), stored)).toEqual({ outcome: 'adopt', cut: cutAt(5) });
});

test.each([
  ['another root at its version', cutAt(5, 'other')],
  ['a version that the log was not left at', cutAt(3)],
  ['another root at the confirmed version', cutAt(1, 'other')],
])('%s halts', async (_, there) => {
  expect(await reconcile(onChain(there), stored)).toMatchObject({ outcome: 'halt', mayBeLag: false });
});

test('what the log holds is not considered newer than what was confirmed after it', async () => {
  const later = { ...confirmed, cut: cutAt(7), ...anchored(cutAt(7)) };
  expect(await reconcile(onChain(cutAt(5)), { ...stored, confirmed: later })).toMatchObject({ outcome: 'halt' });
});

const since = { confirmed: null, lapsed: [anchored(cutAt(3))], headsAt: async (cut: Cut) => cut };

test.each([
  ['newer than the last root', cutAt(5), { outcome: 'sound' }],
  ['the last root', cutAt(3), { outcome: 'adopt', cut: cutAt(3) }],
  ['older than the last root', cutAt(2), { outcome: 'halt', mayBeLag: false }],
  ['of its version and another content', cutAt(3, 'other'), { outcome: 'halt', mayBeLag: false }],
])('after a time without anchors, stored data is %s', async (_, logged, finding) => {
  expect(await reconcile(onChain(cutAt(3)), { ...since, logged })).toMatchObject(finding);
});

test('after a time without anchors another root on the ledger halts, and so does a missing one', async () => {
  const logged = cutAt(5);
  expect(await reconcile(onChain(cutAt(4)), { ...since, logged })).toMatchObject({ outcome: 'halt' });
  expect(await reconcile({ status: 'absent' }, { ...since, logged })).toMatchObject({ outcome: 'halt' });
});

test('a shard that does not know its state at the confirmed root leaves the question open', async () => {
  const headless = { ...stored, headsAt: async () => [null] };
  expect(await reconcile(onChain(cutAt(1)), headless)).toEqual({ outcome: 'retry' });
});

describe.each([3, 5])(
  'the ledger counts another number of decisions, as after one that was carried out: %s',
  (decisions) => {
    test('a row put back to an earlier state halts, confirmed or without anchors', async () => {
      expect(await reconcile(onChain(cutAt(1), decisions), stored)).toMatchObject({
        outcome: 'halt',
        reason: expect.stringContaining("before an operator's decision"),
        mayBeLag: false,
      });
      expect(await reconcile(onChain(cutAt(3), decisions), { ...since, logged: cutAt(5) })).toMatchObject({
        outcome: 'halt',
      });
    });
  },
);
