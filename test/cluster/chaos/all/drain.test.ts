import { afterEach, describe, expect, test } from '@jest/globals';
import { startBacking } from '../../../support/backing-services.ts';
import { expectDurationBelow } from '../../../support/duration.ts';
import { SmallShards, type Used } from '../../../support/small-shards.ts';
import { TcpRelay } from '../../../support/tcp-relay.ts';
import { until } from '../../../support/until.ts';
import { selectedBackings } from '../selection.ts';

const DRAIN_MAX_MS = 10_000;
const STOP_MAX_MS = 29_000;
const ENDED = { code: 0, signal: null };

let small: SmallShards | null = null;
let relay: TcpRelay | null = null;
afterEach(async () => {
  await small?.cluster.dispose();
  await relay?.stop();
  small = null;
  relay = null;
});

/**
 * Stops the node that holds every shard while clients are at work. Expects no failures, and every
 * acknowledged write to be present.
 */
async function drained(
  title: string,
  meanwhile: () => Promise<void> = async () => undefined,
): Promise<Used & { tookMs: number }> {
  const [node] = small!.cluster.shardNodes;
  let tookMs = Number.NaN;
  const used = await small!.useMeanwhile(async () => {
    const [ended] = await Promise.all([small!.stop(node!), meanwhile()]);
    if (relay) relay.delayMs = 0;
    tookMs = ended.tookMs;
    expect(ended).toMatchObject(ENDED);
  });
  process.stderr.write(`${title}: drained after ${Math.round(tookMs)} ms; ${JSON.stringify(used)}\n`);
  expectDurationBelow(tookMs, STOP_MAX_MS);
  return { ...used, tookMs };
}

describe.each(await selectedBackings())('%s', (backing) => {
  test('a node with 100 small shards is drained within 10 s, and no request fails', async () => {
    small = await SmallShards.start(await startBacking(backing));
    const { failures, tookMs } = await drained(`100 small shards, ${backing}`);
    expect(failures).toEqual([]);
    expectDurationBelow(tookMs, DRAIN_MAX_MS);
  });
});

test.each([50, 200])(
  'with MongoDB %i ms slower the drain completes, and no request fails',
  async (ms) => {
    const backing = await startBacking('MongoDB + Redis', true);
    const url = new URL(backing.environment.PROVEC_MONGO_URL!);
    relay = await TcpRelay.start('127.0.0.1', Number(url.port));
    url.port = relay.address.split(':')[1]!;
    small = await SmallShards.start(backing, { environment: { PROVEC_MONGO_URL: url.href } });
    relay.delayMs = ms;
    const { failures } = await drained(`each trip to MongoDB takes ${ms} ms longer`);
    expect(failures).toEqual([]);
  },
  240_000,
);

/** Needs servers: on a shared SQLite file, a node halted in a commit would block all others. */
test('a node that freezes while it takes shards is skipped', async () => {
  small = await SmallShards.start(await startBacking('MongoDB + Redis'));
  const [, heir] = small.cluster.shardNodes;
  const { failures } = await drained('an heir is halted', async () => {
    await until('it has some', async () => ((await small!.holdings()).get(heir!.id) ?? 0) > 5);
    heir!.halt();
  });
  // A write sent to the halted node may have been applied. Everything else must be answered.
  expect(failures.filter((failure) => !/^upsert.* 503 /.test(failure))).toEqual([]);
});
