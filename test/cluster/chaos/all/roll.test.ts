import { describe, expect, test } from '@jest/globals';
import { NEXT_TEST_SECRET, TEST_SECRET } from '../../../support/store-keys.ts';
import { runChaos } from '../chaos-run.ts';
import { roll } from '../roll.ts';
import { selectedBackings } from '../selection.ts';

const ROLLED = { isFlawless: true, gateways: 2, controls: 2 };

describe.each(await selectedBackings())('%s', (backing) => {
  test('nodes are restarted one by one, and no request fails', async () => {
    const result = await runChaos({
      ...ROLLED,
      name: 'every node is rolled once',
      backing,
      trouble: (cluster) => roll(cluster),
    });
    expect(result.faults).toEqual([]);
    expect(result.failures.map(({ kind, failure }) => `${kind}: ${failure}`)).toEqual([]);
    expect(result.shardAwayMs).toBeLessThan(10_000);
  }, 420_000);

  test('the secret is changed in two rolls, and no request fails', async () => {
    const result = await runChaos({
      ...ROLLED,
      name: 'another secret of the installation',
      backing,
      async trouble(cluster) {
        await roll(cluster, { PROVEC_SECRET: `${TEST_SECRET} ${NEXT_TEST_SECRET}` });
        await roll(cluster, { PROVEC_SECRET: `${NEXT_TEST_SECRET} ${TEST_SECRET}` });
      },
    });
    expect(result.faults).toEqual([]);
    expect(result.failures.map(({ kind, failure }) => `${kind}: ${failure}`)).toEqual([]);
  }, 420_000);
});
