import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { shardKey } from '../../../lib/shard/key.ts';
import { type Backing, startBacking } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { TcpRelay } from '../../support/tcp-relay.ts';
import { until } from '../../support/until.ts';
import { shardIndexOf } from '../chaos/placement-of-ids.ts';
import { selectedBackings } from '../chaos/selection.ts';
import { FAULTS, type Fault, type Wires } from './faults.ts';
import { measured, row, type Unavailability } from './measured.ts';
import { type Probe, Probes } from './probes.ts';

/**
 * Collections to probe: one by strong reads and writes, one by eventual reads only, and one with a
 * single shard.
 */
const COLLECTIONS = [
  { name: 'wide', shards: 16, replicas: 0 },
  { name: 'copied', shards: 4, replicas: 1 },
  { name: 'small', shards: 1, replicas: 0 },
] as const;
const CALM_MS = 2_000;
const AFTER_MS = 20_000;
/** Longest time from the end of a fault until every shard answers. */
const BACK_MAX_MS = 10_000;
/** A gateway's time limit for a request, plus a margin. */
const REQUEST_MAX_MS = 68_000;
const WIDE_QUERY_CLIENTS = 4;
const only = process.env.PROVEC_TEST_FAULT;

const rows: string[] = [];
afterAll(() => {
  const head = '| fault | its shards away p50 / max | other shards p50 / max | back after | longest request | failed |';
  process.stderr.write(`\n${[head, '|---|---|---|---|---|---|', ...rows].join('\n')}\n`);
});

const idOf = (shard: number, shards: number): string => {
  for (let number = 0; ; number++) if (shardIndexOf(`r${number}`, shards) === shard) return `r${number}`;
};

function probes(): Probe[] {
  const single = COLLECTIONS.flatMap(({ name, shards }) =>
    Array.from({ length: shards }, (_, shard): Probe[] => {
      const id = shards === 1 ? 'r0' : idOf(shard, shards);
      const at = { collection: name, shard };
      if (name === 'copied')
        return [{ ...at, kind: 'eventual', path: 'fetch', body: { ids: [id], consistency: 'eventual' }, everyMs: 400 }];
      const records = [{ id, values: [1, shard] }];
      return [
        { ...at, kind: 'read', path: 'fetch', body: { ids: [id] }, everyMs: 400 },
        { ...at, kind: 'write', path: 'upsert', body: { records }, everyMs: 800 },
      ];
    }).flat(),
  );
  const wide = Array.from({ length: WIDE_QUERY_CLIENTS }, (): Probe => {
    return { collection: 'wide', kind: 'wide', shard: null, path: 'query', body: { vector: [1, 1] }, everyMs: 500 };
  });
  return [...single, ...wide];
}

async function startCluster(backing: Backing): Promise<{ cluster: ClusterProcess; wires: Map<string, Wires> }> {
  const services = await startBacking(backing, true);
  const wires = new Map<string, Wires>();
  const { redis, mongo, environment } = services;
  for (const id of redis && mongo ? ['shards-0', 'shards-1', 'shards-2'] : []) {
    wires.set(id, {
      redis: await TcpRelay.start('127.0.0.1', redis!.port),
      mongo: await TcpRelay.start('127.0.0.1', Number(new URL(mongo!.url).port)),
    });
  }
  const cluster = await ClusterProcess.start(services, {
    shardNodes: 3,
    controls: 2,
    environmentOf(id): Record<string, string> {
      const own = wires.get(id);
      if (!own) return {};
      const store = new URL(environment.PROVEC_MONGO_URL!);
      store.host = own.mongo.address;
      return { PROVEC_MONGO_URL: store.href, PROVEC_REDIS_URL: `redis://${own.redis.address}` };
    },
  });
  return { cluster, wires };
}

/** Creates a collection with a record in every shard; returns its id. */
async function make(cluster: ClusterProcess, name: string, shards: number, replicas: number): Promise<string> {
  const body = { name, dimensions: 2, shards, replicas };
  const made = await cluster.api<{ collection: { id: string } }>('POST', '/collections', body);
  const records = Array.from({ length: shards }, (_, shard) => {
    return { id: shards === 1 ? 'r0' : idOf(shard, shards), values: [1, shard + 1] };
  });
  expect((await cluster.api('POST', `/collections/${name}/upsert`, { records })).status).toBe(200);
  return made.body.collection.id;
}

/**
 * Over TCP, nodes discover each other one by one. The first node discovered would get every shard
 * and keep them for minutes.
 */
async function everyNodeIsKnown(cluster: ClusterProcess): Promise<void> {
  await until('every node is given shards', async () => {
    const id = await make(cluster, 'before', 16, 0);
    const held = await cluster.holdings(id);
    await cluster.api('DELETE', '/collections/before');
    return held.size === cluster.shardNodes.length;
  });
}

/** Creates the collections; returns their ids by name. */
async function fill(cluster: ClusterProcess): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const { name, shards, replicas } of COLLECTIONS) ids.set(name, await make(cluster, name, shards, replicas));
  return ids;
}

/** Shards as `collection.shard`, by the node that holds them. */
async function holdings(cluster: ClusterProcess, ids: Map<string, string>): Promise<Map<string, string[]>> {
  const held = new Map<string, string[]>();
  for (const { name, shards } of COLLECTIONS) {
    const rows = await cluster.store.owners.list(ids.get(name)!);
    for (let shard = 0; shard < shards; shard++) {
      const node = rows.find((row) => row.shard === shardKey(ids.get(name)!, shard))?.holder?.node ?? '';
      held.set(node, [...(held.get(node) ?? []), `${name}.${shard}`]);
    }
  }
  return held;
}

async function struckBy(fault: Fault, backing: Backing): Promise<Unavailability> {
  const { cluster, wires } = await startCluster(backing);
  try {
    await everyNodeIsKnown(cluster);
    const ids = await fill(cluster);
    const held = await until('every shard has a holder', async () => {
      const found = await holdings(cluster, ids);
      return !found.has('') && found;
    });
    const [victimId] = [...held].sort(([, a], [, b]) => b.length - a.length)[0]!;
    const victim = cluster.node(victimId);
    const struck = new Set(fault.strikesAll ? [...held.values()].flat() : held.get(victimId));
    const probing = new Probes(() => cluster.gatewayUrl(), probes());
    await delay(CALM_MS);
    const beganMs = performance.now();
    await fault.run({ cluster, victim, wires: wires.get(victimId) ?? null });
    const endedMs = performance.now();
    await delay(AFTER_MS);
    const untilMs = performance.now();
    const result = measured(await probing.stop(), { beganMs, endedMs, untilMs }, struck);
    if (process.env.PROVEC_TEST_LOGS) cluster.printLogs();
    return result;
  } finally {
    for (const { redis, mongo } of wires.values()) for (const wire of [redis, mongo]) wire.release();
    await cluster.dispose();
    for (const { redis, mongo } of wires.values()) for (const wire of [redis, mongo]) await wire.stop();
  }
}

const cases = (await selectedBackings()).flatMap((backing) =>
  FAULTS.filter(({ name }) => only === undefined || name.includes(only))
    .filter(({ needsServers }) => !needsServers || backing !== 'SQLite + TCP')
    .map((fault) => [fault.name, backing, fault] as const),
);

describe('every shard answers again within 10 s of the end of a fault', () => {
  test.each(cases)(
    '%s (%s)',
    async (name, backing, fault) => {
      const result = await struckBy(fault, backing);
      rows.push(row(`${name} (${backing})`, result));
      process.stderr.write(`${rows.at(-1)}\n`);
      for (const [failure, count] of result.failures) process.stderr.write(`  ${count} x ${failure}\n`);
      expect(result.backMs).toBeLessThan(BACK_MAX_MS);
      if (fault.awayMaxMs !== undefined) expect(Math.max(...result.struckMs)).toBeLessThan(fault.awayMaxMs);
      expect(result.longestRequestMs).toBeLessThan(REQUEST_MAX_MS);
      if (fault.isGraceful) expect([...result.failures]).toEqual([]);
    },
    300_000,
  );
});
