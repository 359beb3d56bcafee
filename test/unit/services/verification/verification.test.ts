import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { OnChain } from '../../../../contracts/actions/anchoring.ts';
import { LEDGER_LAG_MAX_MS } from '../../../../lib/ledger/lag.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { anchorText, collectionRoot } from '../../../../lib/shard/collection-root.ts';
import { anchored, confirmed, cut, elsewhere, found, head, PLACE, row, ScriptedWorld } from './world.ts';

let world: ScriptedWorld;
beforeEach(() => {
  world = new ScriptedWorld();
});
afterEach(async () => {
  jest.useRealTimers();
  expect([...world.open]).toEqual([]);
  expect(world.submitted).toEqual([]);
  await world.stop();
});

describe('match', () => {
  test('waits for the anchor of the recorded cut and compares with what is then on the ledger', async () => {
    await world.start();
    const { merkleRoot } = collectionRoot(cut(3, 2));
    expect(await world.verify()).toEqual({
      verified: true,
      onChainRoot: merkleRoot,
      computedRoot: merkleRoot,
      match: true,
      vectorCount: 5,
      ledgerExplorerUrl: PLACE.explorerUrl,
      state: 'match',
      version: 5,
      anchoredVersion: 5,
      ledgerAddress: 'Address',
      checkedAt: expect.stringMatching(/Z$/),
    });
    expect(world.awaited).toEqual([cut(3, 2)]);
  });

  test('follows a ledger that moved on during the scan', async () => {
    world.onAwaited = () => {
      world.row = row({ confirmed: confirmed(cut(4, 7)) });
      world.onChain = found(cut(4, 7));
      return 'confirmed';
    };
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'match', version: 11, anchoredVersion: 11, vectorCount: 11 });
  });

  test('waits for a ledger node that is behind, for the permitted time', async () => {
    world.onAwaited = (wanted) => {
      world.row = row({ confirmed: { ...confirmed(wanted), confirmedAt: new Date().toISOString() } });
      world.onChain = found(cut(2, 2));
      world.onPause = () => {
        if (world.pausedMs > LEDGER_LAG_MAX_MS - 300) world.onChain = found(wanted);
      };
      return 'confirmed';
    };
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'match', anchoredVersion: 5 });
  });

  test('knows a root that the ledger took and this service has not yet seen confirmed', async () => {
    world.onAwaited = () => {
      const sent = { signature: 'S', wire: '', lastValidBlockHeight: '1' };
      const inFlight = { step: 'update' as const, ...sent, cut: cut(3, 2), decisions: 1 };
      world.row = row({ confirmed: confirmed(cut(3, 1)), inFlight });
      world.onChain = found(cut(3, 2));
      return 'pending';
    };
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'match', verified: true, anchoredVersion: 5 });
  });
});

describe('mismatch', () => {
  test('a log entry that is not what was written is one, and its records are named', async () => {
    world.row = row({ confirmed: confirmed(cut(3, 2)) });
    world.onChain = found(cut(3, 2));
    world.altered[1] = { seq: 2, ids: ['a', 'b'] };
    await world.start();
    const what = 'an earlier write in the log';
    expect(await world.verify()).toMatchObject({
      state: 'mismatch',
      verified: false,
      reason: "Entry 2 of a shard's log is not what was written there.",
      differences: [
        { id: 'a', what },
        { id: 'b', what },
      ],
    });
    expect(world.awaited).toEqual([]);
  });

  test('what a shard found when it opened is one, even if the store has no contradiction', async () => {
    world.row = row({ confirmed: confirmed(cut(3, 2)) });
    world.onChain = found(cut(3, 2));
    world.remembered = 'The stored records were changed.';
    await world.start();
    expect(await world.verify()).toMatchObject({
      state: 'mismatch',
      reason: 'Anchoring is halted until an operator decides: The stored records were changed.',
    });
    expect(world.awaited).toEqual([]);
  });

  test.each([
    ['confirmed', () => undefined],
    [
      'unreachable',
      () => {
        world.onChain = elsewhere('unreachable');
      },
    ],
    [
      'not anchored at all',
      () => {
        world.anchoring = false;
      },
    ],
  ])('tampered bytes are named while the ledger is %s, and never anchored', async (_, arrange) => {
    world.tampered[1] = 99;
    world.row = row({ confirmed: confirmed(cut(3, 2)) });
    world.onChain = found(cut(3, 2));
    arrange();
    await world.start();
    const result = await world.verify();
    expect(result).toMatchObject({
      state: 'mismatch',
      verified: false,
      match: false,
      computedRoot: collectionRoot([head(3), head(2, 99)]).merkleRoot,
      differences: [{ id: 'record of 1', what: 'values' }],
      reason: expect.stringContaining('contradict'),
    });
    expect(world.awaited).toEqual([]);
  });

  test.each([
    ['an account that is gone', { row: row({ confirmed: confirmed(cut(3, 2)) }), onChain: elsewhere('absent') }],
    ['an account of someone else', { row: row({ confirmed: confirmed(cut(3, 2)) }), onChain: elsewhere('foreign') }],
    [
      'another root at our version',
      {
        row: row({ confirmed: confirmed(cut(3, 2)) }),
        onChain: { ...found(cut(3, 2)), merkleRoot: 'ab'.repeat(32) } as OnChain,
      },
    ],
    [
      'another count at our version',
      {
        row: row({ confirmed: confirmed(cut(3, 2)) }),
        onChain: { ...found(cut(3, 2)), vectorCount: 6 } as OnChain,
      },
    ],
    [
      'an older version than was confirmed',
      { row: row({ confirmed: confirmed(cut(3, 2)) }), onChain: found(cut(3, 1)) },
    ],
    [
      'a version that this service did not anchor',
      { row: row({ confirmed: confirmed(cut(3, 2)) }), onChain: found(cut(9, 9)) },
    ],
    [
      'halted anchoring',
      {
        row: row({ confirmed: confirmed(cut(3, 2)), halted: { reason: 'The log was cut.', at: '' } }),
        onChain: found(cut(3, 2)),
      },
    ],
  ])('%s', async (_, ledger) => {
    Object.assign(world, ledger);
    world.onAwaited = () => 'pending';
    await world.start();
    const result = await world.verify();
    expect(result).toMatchObject({ state: 'mismatch', verified: false, reason: expect.stringMatching(/\.$/) });
    expect(world.awaited).toHaveLength(world.row!.halted ? 0 : 1);
  });
});

describe('neither', () => {
  test('pending while a newer root waits', async () => {
    world.row = row({ confirmed: confirmed(cut(3, 1)) });
    world.onChain = found(cut(3, 1));
    world.onAwaited = () => 'pending';
    await world.start();
    expect(await world.verify()).toMatchObject({
      state: 'pending',
      verified: false,
      match: false,
      onChainRoot: collectionRoot(cut(3, 1)).merkleRoot,
      version: 5,
      anchoredVersion: 4,
    });
  });

  test('pending before the first anchor', async () => {
    world.onAwaited = () => 'pending';
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'pending', onChainRoot: null, anchoredVersion: null });
  });

  test('none for a collection without writes', async () => {
    world.committed = [0, 0];
    world.onAwaited = () => 'pending';
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'none', verified: false, match: false, onChainRoot: null });
  });

  test.each([
    { what: 'wanted', fields: { wanted: cut(0, 0) }, state: 'pending' },
    { what: 'anchored before a pause', fields: { lapsed: [anchored(cut(0, 0))] }, state: 'pending' },
    { what: 'confirmed', fields: { confirmed: confirmed(cut(0, 0)) }, state: 'mismatch' },
  ])("a root that was $what is not 'none', even if nothing is stored", async ({ fields, state }) => {
    world.committed = [0, 0];
    world.row = row(fields);
    world.onAwaited = () => 'pending';
    await world.start();
    expect(await world.verify()).toMatchObject({ state, verified: false });
  });

  test("an emptied store is not reported as 'none' while the ledger holds a root", async () => {
    world.committed = [0, 0];
    world.onChain = found(cut(3, 2));
    world.onAwaited = () => 'pending';
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'mismatch', anchoredVersion: 5 });
  });

  test.each([
    { what: 'of the time before a pause of anchoring', fields: { lapsed: [anchored(cut(2, 2))] } },
    { what: 'that an operator decided against', fields: { trusted: anchorText(anchored(cut(2, 2))) } },
  ])('pending while the ledger holds the root $what, and only then', async ({ fields }) => {
    world.onAwaited = () => 'pending';
    world.row = row({ ...fields, wanted: cut(3, 2) });
    world.onChain = found(cut(2, 2));
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'pending', verified: false, anchoredVersion: 4 });
    world.onChain = found(cut(2, 1));
    expect(await world.verify()).toMatchObject({ state: 'mismatch' });
  });

  test.each([
    [1, 2],
    [3, 1],
  ])('a pause of anchoring does not excuse stored data being no newer at %d and %d', async (...committed) => {
    world.onAwaited = () => 'pending';
    world.row = row({ lapsed: [anchored(cut(2, 2))], wanted: cut(3, 2) });
    world.onChain = found(cut(2, 2));
    world.committed = committed;
    await world.start();
    expect(await world.verify()).toMatchObject({ state: 'mismatch' });
  });

  test('unreachable if nothing contradicts and the ledger is down', async () => {
    world.onChain = elsewhere('unreachable');
    world.onAwaited = () => {
      throw new Error('down');
    };
    await world.start();
    expect(await world.verify()).toMatchObject({
      state: 'unreachable',
      verified: false,
      match: false,
      onChainRoot: null,
      computedRoot: collectionRoot(cut(3, 2)).merkleRoot,
    });
  });

  test.each([
    ['on the Free plan', false, {}],
    ['with the ledger off', true, { PROVEC_LEDGER: 'off' }],
  ])('not anchored %s', async (_, anchoring, environment) => {
    world.anchoring = anchoring;
    await world.start(environment as Record<string, string>);
    expect(await world.verify()).toEqual({
      state: 'not_anchored',
      verified: false,
      match: false,
      onChainRoot: null,
      computedRoot: collectionRoot(cut(3, 2)).merkleRoot,
      vectorCount: 5,
      version: 5,
      anchoredVersion: null,
      ledgerAddress: null,
      ledgerExplorerUrl: null,
      checkedAt: expect.any(String),
      reason: expect.any(String),
    });
    expect(world.awaited).toEqual([]);
  });
});

describe('overlapping verifications', () => {
  test('share a scan, and cover what was written before the later one began', async () => {
    const scanned = Promise.withResolvers<void>();
    world.duringScan = () => scanned.promise;
    await world.start();
    const first = world.verify();
    while (world.scans === 0) await new Promise(setImmediate);
    world.committed = [8, 2];
    const second = world.verify();
    await new Promise(setImmediate);
    scanned.resolve();
    expect(await second).toMatchObject({ state: 'match', version: 10 });
    expect(await first).toMatchObject({ state: 'match', version: 10 });
    expect(world.scans).toBe(1);
    expect(await world.verify()).toMatchObject({ state: 'match' });
    expect(world.scans).toBe(2);
  });

  test('a scanned shard is kept from forgetting its scan while another is scanned, and no longer', async () => {
    const scanned = Promise.withResolvers<void>();
    world.duringScan = (index) => (index === 0 ? Promise.resolve() : scanned.promise);
    await world.start();
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date', 'hrtime'] });
    const verified = world.verify();
    while (world.open.size === 0) await new Promise(setImmediate);
    for (let count = 1; count <= 3; count++) {
      jest.advanceTimersByTime(INTERNAL_LIMITS.recomputeSessionIdleMaxMs / 2);
      while (world.kept.length < count) await new Promise(setImmediate);
    }
    scanned.resolve();
    expect(await verified).toMatchObject({ state: 'match' });
    const { length } = world.kept;
    jest.advanceTimersByTime(INTERNAL_LIMITS.recomputeSessionIdleMaxMs);
    await new Promise(setImmediate);
    expect(world.kept).toEqual(Array(length).fill('0 1'));
  });

  test('a failed scan leaves nothing open, and the next begins anew', async () => {
    world.duringScan = async (index) => {
      if (world.scans === 1 && index === 1) throw new Error('lost');
    };
    await world.start();
    await expect(world.verify()).rejects.toThrow('lost');
    expect(world.open.size).toBe(0);
    expect(await world.verify()).toMatchObject({ state: 'match' });
  });
});
