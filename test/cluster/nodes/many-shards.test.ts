import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { bestBacking, startBacking } from '../../support/backing-services.ts';
import type { ClusterNode } from '../../support/cluster-node.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { until } from '../../support/until.ts';
import { MongoOperations } from './mongo-operations.ts';

const NODES = 5;
/** 1,000 shards in 200 collections. */
const SHARDS_OF = Array.from({ length: 200 }, (_, number) => (number % 2 === 0 ? 8 : 2));
const RECORDS_A_SHARD = 8;
const LANES = 8;
const IDLE_MS = 20_000;
const TICKS_PER_SECOND = 100;
const QUIET_SHARE = 0.05;

let cluster: ClusterProcess | null = null;
let operations: MongoOperations | null = null;
afterEach(async () => {
  await cluster?.dispose();
  await operations?.relay.stop();
});

const LOOKS = 7;

/** Processor time used by a process, in seconds. */
function cpuSeconds({ pid }: ClusterNode): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

async function inLanes(work: (name: string, shards: number) => Promise<void>): Promise<void> {
  const left = SHARDS_OF.map((shards, number) => ({ name: `many-${number}`, shards }));
  const lane = async (): Promise<void> => {
    for (let next = left.pop(); next; next = left.pop()) await work(next.name, next.shards);
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

interface Idle {
  /** Processor cores used, by node. */
  cores: number[];
  /** Calls to MongoDB per second, by kind. */
  calls: Map<string, number>;
}

async function idle(running: ClusterProcess): Promise<Idle> {
  operations?.take();
  const before = running.shardNodes.map(cpuSeconds);
  await delay(IDLE_MS);
  const seconds = IDLE_MS / 1000;
  const cores = running.shardNodes.map((node, at) => (cpuSeconds(node) - before[at]!) / seconds);
  const counts = [...(operations?.take() ?? [])].map(([kind, count]) => [kind, count / seconds] as const);
  return { cores, calls: new Map(counts) };
}

function told({ cores, calls }: Idle): string {
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0);
  const kinds = [...calls].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${kind} ${count.toFixed(1)}`);
  const share = cores.map((used) => `${(used * 100).toFixed(1)} %`).join(', ');
  return `${share} of a core; ${total.toFixed(1)} calls/s to the store${kinds.length > 0 ? ` (${kinds.slice(0, 8).join(', ')})` : ''}`;
}

test('two hundred collections of 1,000 shards on five nodes cost almost nothing while idle, and open on request', async () => {
  const services = await startBacking(await bestBacking(), true);
  const environment: Record<string, string> = { PROVEC_LEDGER: 'off' };
  if (services.mongo) {
    operations = await MongoOperations.start(Number(new URL(services.mongo.url).port));
    const url = new URL(services.environment.PROVEC_MONGO_URL!);
    url.host = operations.relay.address;
    environment.PROVEC_MONGO_URL = url.href;
  }
  const begunMs = performance.now();
  const seconds = () => `${((performance.now() - begunMs) / 1000).toFixed(1)} s`;
  cluster = await ClusterProcess.start(services, { shardNodes: NODES, environment });
  const running = cluster;
  const lines = [`started in ${seconds()}`];
  const empty = await idle(running);
  lines.push(`without shards: ${told(empty)}`);

  const createMs = performance.now();
  await inLanes(async (name, shards) => {
    const created = await running.api('POST', '/collections', { name, dimensions: 3, shards });
    expect(created.status).toBe(201);
    const records = Array.from({ length: shards * RECORDS_A_SHARD }, (_, at) => ({ id: `${at}`, values: [1, at, 2] }));
    const written = await running.api('POST', `/collections/${name}/upsert`, { records });
    expect({ status: written.status, error: written.body.error }).toEqual({ status: 200, error: undefined });
  });
  lines.push(`made and written to within ${((performance.now() - createMs) / 1000).toFixed(1)} s`);

  let cores = [1];
  await until('what was written is at rest', async () => {
    const before = running.shardNodes.map(cpuSeconds);
    await delay(5_000);
    cores = running.shardNodes.map((node, at) => (cpuSeconds(node) - before[at]!) / 5);
    return Math.max(...cores) < QUIET_SHARE * 2;
  });
  const total = ({ calls }: Idle) => [...calls.values()].reduce((sum, count) => sum + count, 0);
  const callsMax = total(empty) * 1.5 + 2;
  let full = await idle(running);
  // Other work on the machine makes everything slower for a while, and recent writes take longer to
  // settle.
  for (let look = 1; look < LOOKS && (Math.max(...full.cores) >= QUIET_SHARE || total(full) >= callsMax); look++)
    full = await idle(running);
  lines.push(`with 1,000 shards: ${told(full)}`);

  await Promise.all(running.shardNodes.map((node) => node.kill()));
  const startMs = performance.now();
  await Promise.all(running.shardNodes.map((node) => node.start()));
  await running.ready();
  const readyMs = performance.now();
  await inLanes(async (name, shards) => {
    const ask = { vector: [1, 1, 2], topK: 1_000 };
    const { body } = await until(`${name} answers`, async () => {
      const answer = await running.api<{ matches: unknown[] }>('POST', `/collections/${name}/query`, ask);
      return answer.status === 200 && answer;
    });
    expect(body.matches).toHaveLength(shards * RECORDS_A_SHARD);
  });
  const [start, answers] = [readyMs - startMs, performance.now() - readyMs].map((ms) => (ms / 1000).toFixed(1));
  lines.push(`all nodes killed: ready again after ${start} s, all 200 collections have answered ${answers} s later`);
  process.stderr.write(`${services.name}, ${NODES} shard nodes:\n  ${lines.join('\n  ')}\n`);

  expect(Math.max(...full.cores)).toBeLessThan(QUIET_SHARE);
  expect(total(full)).toBeLessThan(callsMax);
}, 900_000);
