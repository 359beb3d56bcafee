import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { LeaseRow } from '../../../store/owners.ts';
import { startFolder } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { until } from '../../support/until.ts';
import { RedisRelay } from './redis-relay.ts';

const SHARDS = 16;
const IDS = Array.from({ length: 100 }, (_, at) => `r${at}`);
const CUT_OFF = 'shards-1';
/** Time until the node gives up its shards and others have opened them, on a busy machine. */
const TAKEN_OVER_MS = 20_000;
const LONG_MS = 180_000;

interface Answer {
  matches?: unknown[];
  shards?: { total: number; ok: number; failed: number };
  code?: string;
}

let redis: RedisServer;
let relay: RedisRelay;
let cluster: ClusterProcess;
/**
 * Name of the collection, and how many of its shards the node to cut off holds. New collections are
 * placed at random.
 */
let name = '';
let held = 0;

beforeAll(async () => {
  redis = await startRedis();
  relay = await RedisRelay.start(redis.port);
  cluster = await ClusterProcess.start(await startFolder(redis), {
    shardNodes: 3,
    environment: { PROVEC_LEDGER: 'off', PROVEC_QUERY_CONCURRENCY: '256' },
    environmentOf: (id): Record<string, string> => (id === CUT_OFF ? { PROVEC_REDIS_URL: relay.url } : {}),
  });
  const records = IDS.map((id, at) => ({ id, values: [at, 1] }));
  for (let tries = 0; held === 0 || held === SHARDS; tries++) {
    expect(tries).toBeLessThan(20);
    name = `docs-${tries}`;
    await cluster.api('POST', '/collections', { name, dimensions: 2, shards: SHARDS });
    expect((await cluster.api('POST', `/collections/${name}/upsert`, { records })).status).toBe(200);
    held = await shardsHeld();
  }
}, LONG_MS);
afterAll(async () => {
  await cluster?.dispose();
  await relay?.stop();
  await redis?.dispose();
});

const isItsOwn = ({ node }: LeaseRow): boolean => node === CUT_OFF;

async function shardsHeld(): Promise<number> {
  const { catalog } = cluster.store;
  const [account] = await catalog.listAccounts();
  const row = (await catalog.listCollections(account!.id)).find((collection) => collection.name === name);
  return (await cluster.holdings(row!.id)).get(CUT_OFF) ?? 0;
}

const query = (more: object = {}) =>
  cluster.api<Answer>('POST', `/collections/${name}/query`, { vector: [1, 1], topK: IDS.length, ...more });

test(
  'partial answers leave out a node that receives no calls but reaches the store, until others hold its shards',
  async () => {
    relay.cut();
    const startedMs = performance.now();
    const waiting = query().then((answer) => ({ answer, afterMs: performance.now() - startedMs }));
    const { status, body } = await query({ allowPartial: true });
    expect({ status, shards: body.shards }).toEqual({
      status: 200,
      shards: { total: SHARDS, ok: SHARDS - held, failed: held },
    });
    expect(body.matches!.length).toBeLessThan(IDS.length);
    const { answer, afterMs } = await waiting;
    expect(answer).toMatchObject({ status: 200, body: { matches: { length: IDS.length } } });
    expect(afterMs).toBeLessThan(TAKEN_OVER_MS);
    expect(await shardsHeld()).toBe(0);
    expect((await query({ allowPartial: true })).body.shards).toEqual({ total: SHARDS, ok: SHARDS, failed: 0 });
    relay.mend();
    await until('it has a lease again', async () => (await cluster.store.leases.list()).some(isItsOwn));
    expect(await query()).toMatchObject({ status: 200, body: { matches: { length: IDS.length } } });
  },
  LONG_MS,
);
