/**
 * `npm run bench:cluster`: measures a cluster of real processes: the network overhead compared with
 * one process, the gain from another shard node, and how long a shard is unavailable when its node
 * dies, hangs, drains or moves the shard. Uses the MongoDB and Redis that the tests find, else
 * SQLite and TCP; `--backing local` forces the latter. `--records N` takes the first N of the data
 * set. Compared cases alternate; figures are medians. It ends within four minutes by repeating less
 * often, and prints the number of repetitions.
 */
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { shardIndexOf } from '../services/collections/shard-routing.ts';
import { bestBacking, startBacking } from '../test/support/backing-services.ts';
import type { ClusterNode } from '../test/support/cluster-node.ts';
import { until } from '../test/support/until.ts';
import type { AvailabilityGap } from './availability-watch.ts';
import { BenchCluster, MEMORY_LIMIT_MIB, startAlone, targetOf } from './cluster-nodes.ts';
import { type Dataset, queryBodies, readDataset } from './dataset.ts';
import { FailOvers, type Watched } from './fail-over.ts';
import type { Target } from './http-request.ts';
import { createCollection, upsertAll } from './ingest.ts';
import { closedLoop, type LoadFigures } from './load.ts';
import { median } from './median.ts';
import { cpuSeconds, machineText } from './process-figures.ts';

const { values: options } = parseArgs({ options: { records: { type: 'string' }, backing: { type: 'string' } } });
/** Enough for every shard to get an index and checkpoints. */
const RECORDS = Number(options.records ?? 20_000);
const SHARDS = 8;
const NODES = 3;
const COPIED_RECORDS = 4_000;
const ALONE = 'alone';
const COPIED = 'copied';
const QUERY_PATH = `/collections/${ALONE}/query`;
const CONNECTIONS = 16;
const ROUND_SECONDS = 2;
const WHOLE_MS = 210_000;
const beganMs = performance.now();
/** Time since the start, in ms, after which a part is not repeated again. */
const ENDS_MS = { way: 100_000, nodes: 135_000, moves: 150_000, kills: 175_000, drains: 190_000, losses: WHOLE_MS };

const say = (name: string, value: string) => console.log(`${name.padEnd(48)} ${value}`);
const ms = (value: number) => (value < 100 ? `${value.toFixed(2)} ms` : `${(value / 1000).toFixed(2)} s`);

/** Runs a part once, then again until `most` runs are done or its time is over. */
async function repeat<T>(most: number, part: keyof typeof ENDS_MS, run: (turn: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  while (results.length < most && (results.length === 0 || performance.now() - beganMs < ENDS_MS[part]))
    results.push(await run(results.length));
  return results;
}

async function fill(target: Target, data: Dataset, name: string, replicas: number, records: number): Promise<Watched> {
  const id = await createCollection(target, { name, dimensions: data.dims, shards: SHARDS, replicas });
  await upsertAll(target, data, name, records);
  const ids = data.ids.slice(0, records);
  const recordOf = (index: number) => ids.find((one) => shardIndexOf(one, SHARDS) === index)!;
  return { id, name, records: Array.from({ length: SHARDS }, (_, index) => recordOf(index)) };
}

/** Sends one query at a time, alternately to one process and to the cluster. */
async function way(one: Target, cluster: Target, bodies: Buffer[]): Promise<void> {
  const rounds = await repeat(5, 'way', async (turn) => {
    const inOne = () => closedLoop(one, QUERY_PATH, bodies, 1, ROUND_SECONDS);
    const inCluster = () => closedLoop(cluster, QUERY_PATH, bodies, 1, ROUND_SECONDS);
    if (turn % 2 === 1) return { cluster: await inCluster(), one: await inOne() };
    return { one: await inOne(), cluster: await inCluster() };
  });
  const of = (kind: 'one' | 'cluster', figure: 'p50Ms' | 'p99Ms') => median(rounds.map((round) => round[kind][figure]));
  const line = (kind: 'one' | 'cluster') => `p50 ${ms(of(kind, 'p50Ms'))}  p99 ${ms(of(kind, 'p99Ms'))}`;
  say(`query, 1 connection: one process (${rounds.length} x ${ROUND_SECONDS} s)`, line('one'));
  say('query, 1 connection: cluster, 1 node holds all', line('cluster'));
  say('  the way between processes costs', `p50 ${ms(of('cluster', 'p50Ms') - of('one', 'p50Ms'))}`);
}

/** Spreads the collection's shards over the first `count` shard nodes. */
async function spread(cluster: BenchCluster, { id }: Watched, count: number): Promise<void> {
  const holders = await cluster.holders();
  for (let index = 0; index < SHARDS; index++) {
    const to = cluster.shardNodes[index % count]!.id;
    const from = holders.get(`${id}.${index}`)!;
    if (from !== to) await cluster.move(`${id}.${index}`, from, to);
  }
}

interface Loaded extends LoadFigures {
  gatewayMs: number;
  controlMs: number;
  shardsMs: number;
}

/** Runs queries over many connections; also returns the CPU time per query at each kind of node. */
async function loaded(cluster: BenchCluster, bodies: Buffer[]): Promise<Loaded> {
  const nodes: [ClusterNode[], 'gatewayMs' | 'controlMs' | 'shardsMs'][] = [
    [[cluster.gateway], 'gatewayMs'],
    [[cluster.control], 'controlMs'],
    [cluster.shardNodes, 'shardsMs'],
  ];
  const used = () => nodes.map(([some]) => some.reduce((total, { pid }) => total + cpuSeconds(pid), 0));
  const before = used();
  const figures = await closedLoop(cluster.target, QUERY_PATH, bodies, CONNECTIONS, ROUND_SECONDS);
  const after = used();
  const perQuery = nodes.map(([, name], at) => [name, ((after[at]! - before[at]!) * 1000) / figures.requests]);
  return { ...figures, ...(Object.fromEntries(perQuery) as Omit<Loaded, keyof LoadFigures>) };
}

async function nodes(cluster: BenchCluster, watched: Watched, bodies: Buffer[]): Promise<void> {
  const counts = Array.from({ length: NODES }, (_, at) => at + 1);
  const rounds = new Map<number, Loaded[]>(counts.map((count) => [count, []]));
  await repeat(4, 'nodes', async (turn) => {
    for (const count of turn % 2 === 0 ? counts : counts.toReversed()) {
      await spread(cluster, watched, count);
      rounds.get(count)!.push(await loaded(cluster, bodies));
    }
  });
  const of = (count: number, name: keyof Loaded) => median(rounds.get(count)!.map((round) => round[name]));
  for (const count of counts) {
    const cpu = `CPU a query: shards ${of(count, 'shardsMs').toFixed(2)} ms, gateway ${of(count, 'gatewayMs').toFixed(2)} ms, control ${of(count, 'controlMs').toFixed(2)} ms`;
    const repeated = `(${rounds.get(count)!.length} x ${ROUND_SECONDS} s)`;
    const speed = `${of(count, 'perSecond').toFixed(0)}/s  p50 ${ms(of(count, 'p50Ms'))}  p99 ${ms(of(count, 'p99Ms'))}`;
    say(`query, ${CONNECTIONS} connections: ${count} of ${NODES} nodes hold all ${repeated}`, `${speed}  ${cpu}`);
  }
  const shardsMs = of(1, 'shardsMs');
  say(
    '  computed: a node with a core of its own adds',
    `at most ${(1000 / shardsMs).toFixed(0)}/s, up to ${(1000 / of(1, 'gatewayMs')).toFixed(0)}/s of one gateway`,
  );
}

async function capacity(cluster: BenchCluster): Promise<void> {
  const stats = await Promise.all(cluster.shardNodes.map(({ id }) => cluster.statsOf(id)));
  const sum = (name: 'bytes' | 'records') => stats.reduce((total, each) => total + each[name], 0);
  const recordBytes = sum('bytes') / sum('records');
  const room = (MEMORY_LIMIT_MIB * 2 ** 20 * 0.85) / recordBytes;
  say('memory', `${recordBytes.toFixed(0)} bytes a record that is open`);
  say(
    '  computed: one more node adds',
    `${Math.round(room).toLocaleString('en-US')} records for each GiB of PROVEC_MEMORY_LIMIT_MB (85 %: shards close above)`,
  );
}

function absences(results: { alone: AvailabilityGap; copied: AvailabilityGap; tookMs: number }[]): string {
  const away = (name: 'alone' | 'copied') => {
    const times = results.map((result) => result[name].longestMs);
    return `median ${ms(median(times))}, longest ${ms(Math.max(...times))}`;
  };
  const failures = results.reduce((total, { alone }) => total + alone.failures, 0);
  return `unavailable ${away('alone')}; with a copy ${away('copied')}; ${failures} reads failed`;
}

async function failOvers(cluster: BenchCluster, alone: Watched, copied: Watched): Promise<void> {
  const trouble = new FailOvers(cluster, alone, copied);
  const moves = await repeat(SHARDS, 'moves', (turn) => trouble.moved(turn));
  const moveMs = moves.map(({ tookMs }) => tookMs);
  const awayMs = moves.map(({ away }) => away.longestMs);
  say(
    `a shard is moved (${moves.length} x)`,
    `unavailable median ${ms(median(awayMs))}, longest ${ms(Math.max(...awayMs))}; took ${ms(median(moveMs))}; ` +
      `${moves.reduce((total, { away }) => total + away.failures, 0)} reads failed`,
  );
  const kills = await repeat(3, 'kills', () => trouble.killed());
  say(`SIGKILL, process seen to be gone (${kills.length} x)`, absences(kills));
  const drains = await repeat(2, 'drains', () => trouble.drained());
  const drainMs = median(drains.map(({ tookMs }) => tookMs));
  say(`SIGTERM, drain (${drains.length} x)`, `${absences(drains)}; ended after ${ms(drainMs)}`);
  const losses = await repeat(2, 'losses', () => trouble.lost());
  say(`SIGSTOP without SIGCONT, lease runs out (${losses.length} x)`, absences(losses));
}

async function untilIndexed(cluster: BenchCluster, one: ClusterNode): Promise<void> {
  await until('all is indexed', async () => {
    const stats = await Promise.all(cluster.shardNodes.map(({ id }) => cluster.statsOf(id)));
    if (stats.some(({ unindexed }) => unindexed > 0)) return false;
    return /^provec_shards_unindexed_records 0$/m.test(await (await fetch(`${one.url}/metrics`)).text());
  });
}

async function main(): Promise<void> {
  const data = readDataset(RECORDS);
  const bodies = queryBodies(data);
  const backing = await startBacking(options.backing === 'local' ? 'SQLite + TCP' : await bestBacking());
  const load = () => loadavg()[0]!.toFixed(1);
  say('machine', `${machineText()}, load before ${load()}`);
  say('backing', `${backing.name}; gateway, control and ${NODES} shard nodes of one worker each, all on this machine`);
  const cluster = await BenchCluster.start(backing, NODES);
  let one: ClusterNode | null = null;
  try {
    one = await startAlone(backing);
    const records = data.ids.length;
    say('data', `${records} x ${data.dims} in ${SHARDS} shards, and ${COPIED_RECORDS} in ${SHARDS} with one copy each`);
    await fill(targetOf(one), data, ALONE, 0, records);
    const alone = await fill(cluster.target, data, ALONE, 0, records);
    const copied = await fill(cluster.target, data, COPIED, 1, Math.min(records, COPIED_RECORDS));
    await untilIndexed(cluster, one);
    await spread(cluster, alone, 1);
    await closedLoop(targetOf(one), QUERY_PATH, bodies, 1, 1);
    await closedLoop(cluster.target, QUERY_PATH, bodies, 1, 1);
    await way(targetOf(one), cluster.target, bodies);
    await one.stop();
    await capacity(cluster);
    await nodes(cluster, alone, bodies);
    await failOvers(cluster, alone, copied);
    const cores = cpus().length;
    if (cores < 6)
      say(
        'note',
        `${cores} cores carry ${NODES + 2} nodes, the store and the load: more nodes add little here; the CPU of a query says what they add elsewhere`,
      );
    say('took', `${((performance.now() - beganMs) / 1000).toFixed(0)} s, load after ${load()}`);
  } finally {
    await one?.dispose();
    await cluster.dispose();
  }
}

await main();
