import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { startBacking } from '../../support/backing-services.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const MIB = 2 ** 20;
const CLIENTS = 16;
const DIMENSIONS = 384;
const RECORDS_MAX = 46;
const IDS = 4_000;
const SECONDS = 60 * Number(process.env.PROVEC_TEST_MINUTES ?? 2);
/** Main thread's memory for young objects as set by launch.ts: two halves. */
const YOUNG_MAX_MIB = 2 * 16;
/** V8 lets dead old objects and buffers grow to about this size before it collects them. */
const LAZY_MIB = 64;
/** Freed blocks that glibc keeps, compiled code, and pages of the store's files. */
const ALLOCATOR_MIB = 64;
const BODY_MIB = (RECORDS_MAX * DIMENSIONS * 12) / MIB;
/** A body as received, as text, and as sent to the shard nodes. */
const COPIES = 3;
const GROWTH_MAX_MIB = YOUNG_MAX_MIB + LAZY_MIB + ALLOCATOR_MIB + CLIENTS * BODY_MIB * COPIES;

let cluster: ClusterProcess;
beforeAll(async () => {
  cluster = await ClusterProcess.start(await startBacking('SQLite + TCP'), {
    shardNodes: 2,
    isLaunched: true,
    environment: { PROVEC_BOOTSTRAP_PLAN: 'enterprise', PROVEC_LEDGER: 'off' },
  });
});
afterAll(() => cluster.dispose());

interface Memory {
  rss: number;
  heapUsed: number;
  young: number;
}

/** Memory of the gateway in MiB. */
async function memory(): Promise<Memory> {
  const { pid, url } = cluster.gateways[0];
  const page = await (await fetch(`${url}/metrics`)).text();
  const metric = (name: RegExp): number => Number(new RegExp(`^${name.source} (\\S+)$`, 'm').exec(page)![1]) / MIB;
  const [, kilobytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return {
    rss: Number(kilobytes) / 1024,
    heapUsed: metric(/nodejs_heap_size_used_bytes/),
    young: metric(/nodejs_heap_space_size_total_bytes\{space="new"\}/),
  };
}

/**
 * Sends upserts of 4 to 200 KB, queries, fetches, deletes and a verify now and then, one at a time.
 * Accepts any response except a service failure.
 */
async function client(number: number, isOver: () => boolean): Promise<void> {
  const random = randomFrom(seed * 1_000 + number);
  const api = apiClient(cluster.gateways[0].url!, TEST_KEY);
  const below = (most: number): number => Math.floor(random() * most);
  const vector = () => Array.from({ length: DIMENSIONS }, () => random() * 2 - 1);
  const id = () => `r${below(IDS)}`;
  const many = <T>(most: number, make: () => T): T[] => Array.from({ length: 1 + below(most) }, make);
  const record = () => ({ id: id(), values: vector(), metadata: { text: 'x'.repeat(below(300)) } });
  const post = (action: string, body: unknown) => api('POST', `/collections/docs/${action}`, body);
  while (!isOver()) {
    const choice = random();
    const { status } = await (choice < 0.4
      ? post('upsert', { records: many(RECORDS_MAX, record) })
      : choice < 0.75
        ? post('query', { vector: vector(), topK: 1 + below(50), includeValues: choice < 0.5 })
        : choice < 0.92
          ? post('fetch', { ids: many(60, id) })
          : choice < 0.998
            ? post('delete', { ids: many(2, id) })
            : api('GET', '/collections/docs/verify'));
    expect([200, 503]).toContain(status);
  }
}

test(
  "a gateway's memory under mixed load stays within its heap limit plus the work in progress",
  async () => {
    const created = await cluster.api('POST', '/collections', { name: 'docs', dimensions: DIMENSIONS, shards: 4 });
    expect(created.status).toBe(201);
    const first = await memory();
    const beganMs = performance.now();
    const passedS = (): number => (performance.now() - beganMs) / 1_000;
    const clients = Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at, () => passedS() > SECONDS)));
    const samples: (Memory & { atS: number })[] = [];
    while (passedS() < SECONDS) {
      const dueS = passedS() + 1;
      await until('a second has passed', () => passedS() >= dueS);
      samples.push({ atS: passedS(), ...(await memory()) });
    }
    await clients;
    const most = Math.max(...samples.map(({ rss }) => rss));
    const young = Math.max(...samples.map(({ young }) => young));
    /** The live heap is what remains just after a collection. */
    const alive = (fromS: number, toS: number): number =>
      Math.min(...samples.filter(({ atS }) => atS >= fromS && atS < toS).map(({ heapUsed }) => heapUsed));
    const [early, late] = [alive(SECONDS / 4, SECONDS / 2), alive((SECONDS * 3) / 4, Infinity)];
    const figures = `RSS ${first.rss.toFixed(0)}, at most ${most.toFixed(0)}, in the end ${samples.at(-1)!.rss.toFixed(0)} MiB`;
    process.stderr.write(
      `${figures}; alive ${early.toFixed(1)}, later ${late.toFixed(1)}; young ${young.toFixed(0)}\n`,
    );
    expect(young).toBeLessThanOrEqual(YOUNG_MAX_MIB);
    expect(late).toBeLessThan(early + 8);
    expect(most - first.rss).toBeLessThan(GROWTH_MAX_MIB);
  },
  (SECONDS + 120) * 1_000,
);
