import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ServiceBroker } from 'moleculer';
import { call } from '../../../contracts/actions/call.ts';
import type { ClusterActions } from '../../../contracts/actions/cluster.ts';
import { startBacking } from '../../support/backing-services.ts';
import { startCaller } from '../../support/caller.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { ADMIN_TOKEN } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

let cluster: ClusterProcess;
let broker: ServiceBroker;
let id = '';

beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  cluster = await ClusterProcess.start(backing, {
    shardNodes: 3,
    environment: { PROVEC_LEDGER: 'off', PROVEC_HEALTH_PORT: '0', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN },
  });
  broker = await startCaller(backing.dataDir, 'cluster');
  await cluster.api('POST', '/collections', { name: 'docs', dimensions: 2, shards: 8 });
  const records = Array.from({ length: 64 }, (_, at) => ({ id: `r${at}`, values: [at, 1] }));
  expect((await cluster.api('POST', '/collections/docs/upsert', { records })).status).toBe(200);
  id = (await ask('cluster.collections', {})).rows[0]!.id;
});
afterAll(async () => {
  await broker?.stop();
  await cluster?.dispose();
});

function ask<A extends keyof ClusterActions>(action: A, params: ClusterActions[A]['params']) {
  return call(broker, action, params, { timeout: 60_000 });
}

const names = () => cluster.shardNodes.map((node) => node.id);
const refused = (message: RegExp) => ({
  name: 'ProvecError',
  code: 'INVALID_ARGUMENT',
  message: expect.stringMatching(message),
});

const wrong = (message: RegExp) => ({ name: 'ValidationError', message: expect.stringMatching(message) });

/** Writes and queries until `work` is done; returns the responses other than 200. */
async function failuresMeanwhile(work: () => Promise<unknown>): Promise<unknown[]> {
  const failures: unknown[] = [];
  let isOver = false;
  let asked = 0;
  const use = async (lane: number): Promise<void> => {
    for (let at = 0; !isOver; at++) {
      const records = [{ id: `r${(lane * 7 + at) % 64}`, values: [at + 1, lane] }];
      for (const [path, body] of [
        ['upsert', { records }],
        ['query', { vector: [1, 1], topK: 64 }],
      ] as const) {
        const { status, body: answer } = await cluster.api<{ matches?: unknown[] }>(
          'POST',
          `/collections/docs/${path}`,
          body,
        );
        asked++;
        if (status !== 200 || (path === 'query' && answer.matches?.length !== 64))
          failures.push({ path, status, answer });
      }
    }
  };
  const users = [0, 1, 2, 3].map(use);
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(users);
  }
  expect(asked).toBeGreaterThan(0);
  return failures;
}

describe('tables', () => {
  test('nodes: what each holds and could hold, and the other nodes', async () => {
    const { shardNodes, others, omitted } = await until('all are known to the one that is asked', async () => {
      const table = await ask('cluster.nodes', {});
      const known = table.others.map(({ node }) => node);
      const isWhole = ['control-1', 'gateway-1', 'caller'].every((node) => known.includes(node));
      return isWhole && table.shardNodes.every(({ error }) => error === null) && table;
    });
    expect(shardNodes.map(({ node }) => node)).toEqual(names());
    for (const row of shardNodes) {
      expect(row).toMatchObject({ lease: true, draining: false, error: null, workers: 1, version: '0.1.0' });
      expect(row.memoryLimitBytes).toBe(1024 * 2 ** 20);
      expect(row.uptimeSeconds).toBeLessThan(300);
    }
    expect(shardNodes.reduce((total, { open }) => total + open!, 0)).toBe(8);
    expect(others.find(({ node }) => node === 'control-1')!.services).toContain('cluster');
    expect(omitted).toBe(0);
  });

  test('shards: owner, epoch, seq and records, in pages, by id or name', async () => {
    const all = await ask('cluster.shards', { collection: id });
    expect(all).toMatchObject({ next: null, unreachable: [] });
    expect(all.rows.map(({ shard }) => shard)).toEqual(Array.from({ length: 8 }, (_, at) => `${id}.${at}`));
    expect(all.rows.reduce((total, { records }) => total + records, 0)).toBe(64);
    for (const row of all.rows) {
      expect(row).toMatchObject({ state: 'open', followers: [], bytes: expect.any(Number) });
      expect(names()).toContain(row.node);
      expect(row.epoch).toBeGreaterThan(0);
      expect(row.seq).toBeGreaterThan(0);
    }
    const second = await ask('cluster.shards', { collection: 'default/docs', offset: 3, limit: 2 });
    expect(second.next).toBe(5);
    expect(second.rows.map(({ shard }) => shard)).toEqual([`${id}.3`, `${id}.4`]);
    expect(await ask('cluster.shards', { offset: 6, limit: 2 })).toMatchObject({ next: null, rows: { length: 2 } });
  });

  test('collections and anchors', async () => {
    const { rows, next } = await ask('cluster.collections', {});
    expect(next).toBeNull();
    expect(rows).toEqual([
      expect.objectContaining({ id, account: 'default', name: 'docs', shards: 8, vectors: 64, anchor: 'none' }),
    ]);
    expect(rows[0]!.bytes).toBeGreaterThan(0);
    expect(await ask('cluster.anchors', {})).toMatchObject({ rows: [{ collectionId: id, state: 'none' }], next: null });
    expect(await ask('cluster.anchors', { standing: 'halted' })).toEqual({ rows: [], next: null });
  });

  test('the verdict is the same as for clients', async () => {
    expect(await ask('cluster.verify', { account: 'default', collection: 'docs' })).toMatchObject({
      state: 'not_anchored',
      vectorCount: 64,
    });
  });
});

test('an error is reported in a sentence, and nothing is done', async () => {
  await expect(ask('cluster.shards', { limit: 0 })).rejects.toMatchObject(wrong(/^limit must be at least 1\.$/));
  await expect(ask('cluster.shards', { limit: 1_001 })).rejects.toMatchObject(wrong(/at most 1000/));
  await expect(ask('cluster.shards', { colection: id } as never)).rejects.toMatchObject(
    wrong(/no parameter colection/),
  );
  await expect(ask('cluster.move', { shard: `${id}.0` } as never)).rejects.toMatchObject(wrong(/^node is missing/));
  await expect(ask('cluster.move', { shard: `${id}.8`, node: names()[0]! })).rejects.toMatchObject(refused(/0 to 7/));
  await expect(ask('cluster.move', { shard: `${id}.0`, node: 'nobody' })).rejects.toMatchObject(
    refused(/^nobody cannot take shards now; these can: shards-0, shards-1, shards-2\.$/),
  );
  await expect(ask('cluster.drain', { node: 'gateway-1' })).rejects.toMatchObject(refused(/these can: shards-0/));
  await expect(ask('cluster.shards', { collection: 'default/none' })).rejects.toMatchObject({
    code: 'COLLECTION_NOT_FOUND',
  });
  await expect(ask('cluster.verify', { account: 'nobody', collection: 'docs' })).rejects.toMatchObject({
    code: 'ACCOUNT_NOT_FOUND',
    message: 'There is no account with that id or name.',
  });
  await expect(ask('cluster.resume', { collection: id })).rejects.toMatchObject(refused(/not halted/));
});

/** What a node publishes about an action. */
interface Told {
  name: string;
  action: { params?: Record<string, string | { optional?: boolean }> };
}

test('every action that needs a parameter names a missing one', async () => {
  const actions = broker.registry.getActionList({ skipInternal: true }) as unknown as Told[];
  const needs = ({ params = {} }: Told['action']) =>
    Object.entries(params).some(
      ([name, rule]) => !name.startsWith('$') && (typeof rule === 'string' || !rule.optional),
    );
  const needing = actions.filter(({ action }) => needs(action)).map(({ name }) => name);
  for (const name of ['collections.create', 'collections.query', 'keys.page', 'anchoring.state', 'shards.upsert'])
    expect(needing).toContain(name);
  for (const name of needing)
    await expect(broker.call(name, {})).rejects.toMatchObject(wrong(/^[A-Za-z]+ is missing\.$/));
});

test('a shard in use moves where it is sent, and no request fails', async () => {
  const failures = await failuresMeanwhile(async () => {
    for (const node of [...names(), ...names()]) {
      expect(await ask('cluster.move', { shard: 'default/docs.2', node })).toMatchObject({
        shard: `${id}.2`,
        to: node,
      });
      const { rows } = await ask('cluster.shards', { collection: id, offset: 2, limit: 1 });
      expect(rows).toMatchObject([{ node, state: 'open' }]);
    }
  });
  expect(failures).toEqual([]);
});

test('a drained node in use hands everything over, takes nothing, and no request fails', async () => {
  const [leaving] = names();
  const failures = await failuresMeanwhile(async () => {
    await until('the node holds nothing', async () => (await ask('cluster.drain', { node: leaving! })).left === 0);
    await delay(500);
  });
  expect(failures).toEqual([]);
  const { shardNodes } = await ask('cluster.nodes', {});
  expect(shardNodes.find(({ node }) => node === leaving)).toMatchObject({ draining: true, open: 0 });
  expect((await cluster.holdings(id)).has(leaving!)).toBe(false);
  await expect(ask('cluster.move', { shard: `${id}.0`, node: leaving! })).rejects.toMatchObject(refused(/cannot take/));
});

test('an unresponsive node costs its row, not the table', async () => {
  const halted = cluster.node('shards-1');
  halted.halt();
  try {
    const { shardNodes } = await ask('cluster.nodes', {});
    expect(shardNodes.find(({ node }) => node === 'shards-1')).toMatchObject({ open: null, error: expect.any(String) });
    expect(shardNodes.find(({ node }) => node === 'shards-2')).toMatchObject({ error: null });
  } finally {
    halted.resume();
  }
  await until('it answers again', async () => {
    const { shardNodes } = await ask('cluster.nodes', {});
    return shardNodes.find(({ node }) => node === 'shards-1')?.error === null;
  });
});

test('every process answers on its own health port', async () => {
  for (const { id: name, log } of [...cluster.gateways, ...cluster.controls, ...cluster.shardNodes]) {
    const url = cluster.node(name).healthUrl!;
    expect({ name, log, live: (await fetch(`${url}/livez`)).status }).toMatchObject({ live: 200 });
    await until(`${name} is ready`, async () => (await fetch(`${url}/readyz`)).status === 200);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(/^provec_shards_open \d+$/m.test(metrics)).toBe(name.startsWith('shards-'));
    expect((await fetch(`${url}/api/v1/collections`)).status).toBe(404);
    expect((await fetch(`${url}/livez`, { method: 'POST' })).status).toBe(405);
  }
  const gateway = cluster.gateways[0]!;
  const shardsOnly = cluster.shardNodes.at(-1)!;
  await cluster.controls[0]!.stop();
  await until('the gateway says what is missing', async () => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const answer = await fetch(`${gateway.healthUrl}/readyz`, { headers });
    const { status, reasons } = (await answer.json()) as { status: string; reasons?: string[] };
    return answer.status === 503 && status === 'unavailable' && /no node runs .*keys/.test(reasons!.join());
  });
  expect(await (await fetch(`${gateway.healthUrl}/readyz`)).json()).toEqual({ status: 'unavailable' });
  expect((await fetch(`${shardsOnly.healthUrl}/readyz`)).status).toBe(200);
});
