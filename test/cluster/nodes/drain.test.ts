import { afterEach, expect, test } from '@jest/globals';
import { startBacking } from '../../support/backing-services.ts';
import { expectDurationBelow } from '../../support/duration.ts';
import { SmallShards } from '../../support/small-shards.ts';

const DRAIN_MAX_MS = 10_000;
const ENDED = { code: 0, signal: null };

let small: SmallShards | null = null;
afterEach(async () => {
  await small?.cluster.dispose();
  small = null;
});

test('a node with 100 small shards is drained within seconds, and no request fails', async () => {
  small = await SmallShards.start(await startBacking('SQLite + TCP'));
  const [node] = small.cluster.shardNodes;
  expect(await small.holdings()).toEqual(new Map([[node!.id, 100]]));
  let tookMs = Number.NaN;
  const used = await small.useMeanwhile(async () => {
    const ended = await small!.stop(node!);
    tookMs = ended.tookMs;
    expect(ended).toMatchObject(ENDED);
  });
  process.stderr.write(`100 shards, SQLite + TCP: drained after ${Math.round(tookMs)} ms, ${JSON.stringify(used)}\n`);
  expect(used.failures).toEqual([]);
  expect((await small.holdings()).get(node!.id)).toBeUndefined();
  expectDurationBelow(tookMs, DRAIN_MAX_MS);
});

test('two nodes that leave at once hand their shards to the remaining one', async () => {
  small = await SmallShards.start(await startBacking('SQLite + TCP'), { shards: 60, holders: 3, heirs: 0 });
  const [one, other, stays] = small.cluster.shardNodes;
  const used = await small.useMeanwhile(async () => {
    const ended = await Promise.all([small!.stop(one!), small!.stop(other!)]);
    for (const end of ended) expect(end).toMatchObject(ENDED);
  });
  process.stderr.write(`two of three nodes, SQLite + TCP: ${JSON.stringify(used)}\n`);
  expect(used.failures).toEqual([]);
  expect([...(await small.holdings()).keys()]).toEqual([stays!.id]);
});

test('the only node releases its shards at once, and requests wait for the next node', async () => {
  small = await SmallShards.start(await startBacking('SQLite + TCP'), { shards: 40, heirs: 0 });
  const [node] = small.cluster.shardNodes;
  const used = await small.useMeanwhile(async () => {
    expect(await small!.stop(node!)).toMatchObject(ENDED);
    await small!.cluster.addShardNode();
    await small!.cluster.ready();
  });
  process.stderr.write(`the only node, SQLite + TCP: ${JSON.stringify(used)}\n`);
  expect(used.failures).toEqual([]);
});
