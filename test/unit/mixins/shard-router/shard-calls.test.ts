import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { Errors, ServiceBroker } from 'moleculer';
import pino from 'pino';
import { call } from '../../../../contracts/actions/call.ts';
import { shardSpec } from '../../../../lib/shard/spec.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { ShardCalls } from '../../../../mixins/shard-router/shard-calls.ts';
import { NodeUnresponsive } from '../../../../mixins/shard-router/unresponsive-nodes.ts';
import { readConfig } from '../../../../process/config.ts';
import { runtimeOf } from '../../../../process/runtime.ts';
import shards from '../../../../services/shards/shards.service.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { ACCOUNT, batchOf } from '../../../support/shard-fixture.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const COLLECTION = 'c0000000-0000-4000-8000-000000000001';
/** Longer than an opening takes, shorter than jest's timeout. */
const PATIENCE_MS = 30_000;

const endings: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (let end = endings.pop(); end; end = endings.pop()) await end();
});

/**
 * One node of a cluster, with a collection of one shard. `restart` stops it and starts the next
 * node on the same store.
 */
async function oneNode(replicas: number) {
  const folder = mkdtempSync(join(tmpdir(), 'provec-shard-calls-'));
  endings.push(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openSqliteStore(folder, { keys: TEST_KEYS });
  endings.push(() => store.close());
  const createdAt = new Date(0).toISOString();
  await store.catalog.createAccount({ id: ACCOUNT, name: 'test', plan: 'enterprise', createdAt });
  const row: CollectionRow = {
    id: COLLECTION,
    accountId: ACCOUNT,
    name: 'docs',
    dimensions: 4,
    metric: 'cosine',
    shards: 1,
    replicas,
    quantization: 'bf16',
    deletionProtection: false,
    createdAt,
  };
  await store.catalog.createCollection(row, null);
  const config = readConfig({ PROVEC_DATA_DIR: folder, PROVEC_WORKERS: '1', PROVEC_DISK_RESERVE_MB: '0' });
  const runtime = runtimeOf({ config, store, clock: SYSTEM_CLOCK, log: pino({ level: 'silent' }) });
  const start = async (): Promise<ServiceBroker> => {
    const calls = new ShardCalls(store.owners);
    const broker = new ServiceBroker({
      nodeID: 'only',
      logger: false,
      middlewares: [calls.middleware],
      skipProcessEventRegistration: true,
    });
    broker.createService(calls.service);
    broker.createService(shards(runtime, true));
    await broker.start();
    return broker;
  };
  let broker = await start();
  endings.push(() => broker.stop());
  return {
    shard: shardSpec(row, 0),
    broker: () => broker,
    async restart() {
      await broker.stop();
      broker = await start();
    },
  };
}

test.each([0, 1])('an eventual read opens a shard without a holder (replicas: %i)', async (replicas) => {
  const { shard, broker, restart } = await oneNode(replicas);
  const options = { timeout: PATIENCE_MS };
  const read = { shard, pageMaxBytes: 1_000_000, eventual: true };
  const ids = ['a', 'b'];
  // A shard that was never opened.
  expect((await call(broker(), 'shards.fetch', { ...read, ids }, options)).items).toEqual([]);
  await call(broker(), 'shards.upsert', { shard, batch: batchOf(ids), waitMs: PATIENCE_MS }, options);
  await restart();
  const fetched = await call(broker(), 'shards.fetch', { ...read, ids }, options);
  expect(fetched.items.map(({ id }) => id).sort()).toEqual(ids);
  await restart();
  const query = {
    vector: Float32Array.of(1, 1, 1, 1),
    topK: 10,
    filter: null,
    includeValues: false,
    includeMetadata: false,
    scoreThreshold: null,
    exact: false,
  };
  const found = await call(broker(), 'shards.query', { ...read, query }, options);
  expect(found.items.map(({ id }) => id).sort()).toEqual(ids);
});

interface Caller {
  call(action: string, params: unknown, options: { nodeID?: string; timeout?: number }): Promise<unknown>;
}

/**
 * Calls of node `a`, which sees the shard nodes `others`. The node `silent` does not respond to
 * pings.
 */
function callsOf(others: string[], silent: string | null, next: (...call: unknown[]) => Promise<unknown>): Caller {
  const endpoints = others.map((id) => ({ id, isAvailable: true, node: { metadata: {} } }));
  const broker = {
    nodeID: 'a',
    registry: { actions: { get: () => ({ endpoints }) } },
    async call(_action: string, _params: unknown, { nodeID }: { nodeID: string }) {
      if (nodeID === silent) throw new Errors.RequestTimeoutError({ action: 'asked', nodeID });
      return {};
    },
  };
  const { middleware } = new ShardCalls({ get: async () => null }) as unknown as {
    middleware: { created(it: unknown): void; stopped(): void; call(next: unknown): Caller['call'] };
  };
  middleware.created(broker);
  endings.push(() => middleware.stopped());
  return { call: middleware.call(next) };
}

test('a node that is taking a shard is waited for while it answers questions, and no longer', async () => {
  const adopt = (silent: string | null, openMs: number): Promise<unknown> =>
    callsOf(['heir'], silent, () => delay(openMs, 'opened', { ref: false })).call(
      'shards.adopt',
      { shard: {} },
      { nodeID: 'heir' },
    );
  expect(await adopt(null, 2_000)).toBe('opened');
  await expect(adopt('heir', 60_000)).rejects.toBeInstanceOf(NodeUnresponsive);
});

test.each([
  ['shards.query', { items: [], rest: 'x' }, { items: [], rest: 'copy/x' }],
  ['shards.read', { items: [], rest: 'x' }, { items: [], rest: 'copy/x' }],
  ['shards.read', { missing: 1, page: { items: [], rest: 'x' } }, { missing: 1, page: { items: [], rest: 'copy/x' } }],
  ['shards.read', 7, 7],
  [
    'shards.queries',
    [
      { items: [], rest: 'x' },
      { items: [], rest: null },
    ],
    [
      { items: [], rest: 'copy/x' },
      { items: [], rest: null },
    ],
  ],
])('%s says for the rest of each of its pages which node has it', async (action, answered, expected) => {
  const { call: read } = callsOf(['copy'], null, async () => answered);
  const shard = { collectionId: COLLECTION, index: 0, replicas: 1 };
  expect(await read(action, { shard, eventual: true }, { timeout: PATIENCE_MS })).toEqual(expected);
});

test('an eventual read skips a copy on an unresponsive node', async () => {
  let askedSilent = 0;
  const { call: read } = callsOf(['silent', 'good'], 'silent', (_action, _params, options) => {
    if ((options as { nodeID: string }).nodeID === 'good') return Promise.resolve('answer');
    askedSilent++;
    return new Promise(() => undefined);
  });
  const shard = { collectionId: COLLECTION, index: 0, replicas: 1 };
  const fetch = () => read('shards.headAt', { shard, eventual: true }, { timeout: PATIENCE_MS });
  while (askedSilent === 0) expect(await fetch()).toBe('answer');
  for (let i = 0; i < 50; i++) expect(await fetch()).toBe('answer');
  expect(askedSilent).toBe(1);
});

test.each(['shards.countNew', 'shards.upsert'])(
  '%s gives up a shard without a holder after `openMaxMs`',
  async (action) => {
    const { call: ask } = callsOf([], null, async () => 'answer');
    const params = { shard: { collectionId: COLLECTION, index: 0 }, waitMs: 600_000, openMaxMs: 0 };
    await expect(ask(action, params, { timeout: 0 })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  },
);
