/**
 * `npm run bench -- neighbour`: measures how much one tenant waits while another writes as fast as
 * it can.
 *
 * Two services run on the machine. The calm tenant, on the first, sends one request at a time:
 * upserts of one record, then queries. The noisy tenant sends batches over many connections, either
 * to the same service or to the other one. The second case is the same work on the same machine,
 * sharing only the processor and the disk. Rounds of the two cases alternate.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from '../examples/api-client.ts';
import { startServiceProcess } from '../examples/service-process.ts';
import { type Dataset, queryBodies, readDataset, recordsOf } from './dataset.ts';
import { post, type Target } from './http-request.ts';
import { createCollection, upsertAll } from './ingest.ts';
import { closedLoop, type LoadFigures } from './load.ts';
import { median } from './median.ts';
import { machineText } from './process-figures.ts';
import { BENCH_KEY } from './temporary-service.ts';

const ADMIN_TOKEN = 'admin-token-of-the-bench-0123456789';
const CALM_RECORDS = 2_000;
const BATCH = 500;
const CONNECTIONS = 32;
const ROUNDS = 3;
const NOISY_COLLECTIONS = [1, 16];

const say = (name: string, value: string) => console.log(`${name.padEnd(52)} ${value}`);
const middle = (rounds: LoadFigures[], pick: (figures: LoadFigures) => number) => median(rounds.map(pick)).toFixed(1);

interface Round {
  upsert: LoadFigures;
  query: LoadFigures;
  noisyPerSecond: number;
}

function upsertBodies(data: Dataset, size: number, from: number, count: number): Buffer[] {
  return Array.from({ length: count }, (_, body) => {
    const first = (from + body * size) % data.ids.length;
    return Buffer.from(JSON.stringify({ records: recordsOf(data, first, first + size) }));
  });
}

async function createTenant(url: string, name: string): Promise<Target> {
  const { key } = await new ApiClient(url, ADMIN_TOKEN).call<{ key: { secret: string } }>('POST', '/admin/accounts', {
    name,
    plan: 'enterprise',
  });
  return { url, key: key.secret };
}

/** Upserts to `collections` in turn until stopped; skips batches refused with 429 or 503. */
function writeOn(target: Target, collections: string[], bodies: Buffer[]): () => Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const startedMs = performance.now();
  let stopped = false;
  let next = 0;
  let records = 0;
  const lane = async () => {
    while (!stopped) {
      const at = next++;
      const path = `/collections/${collections[at % collections.length]}/upsert`;
      const { status, text } = await post(target, agent, path, bodies[at % bodies.length]!);
      if (status === 200) records += BATCH;
      else if (status !== 503 && status !== 429) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
    }
  };
  const lanes = Promise.all(Array.from({ length: CONNECTIONS }, lane));
  return async () => {
    stopped = true;
    await lanes;
    agent.destroy();
    return records / ((performance.now() - startedMs) / 1000);
  };
}

async function calmRound(calm: Target, data: Dataset, seconds: number): Promise<Omit<Round, 'noisyPerSecond'>> {
  const upserts = upsertBodies(data, 1, 0, CALM_RECORDS);
  return {
    upsert: await closedLoop(calm, '/collections/calm/upsert', upserts, 1, seconds),
    query: await closedLoop(calm, '/collections/calm/query', queryBodies(data), 1, seconds),
  };
}

function report(where: string, rounds: Round[]): void {
  const upserts = rounds.map(({ upsert }) => upsert);
  const queries = rounds.map(({ query }) => query);
  const noisy = median(rounds.map(({ noisyPerSecond }) => noisyPerSecond)).toFixed(0);
  const of = (figures: LoadFigures[]) =>
    `p50 ${middle(figures, ({ p50Ms }) => p50Ms)} ms, p99 ${middle(figures, ({ p99Ms }) => p99Ms)} ms`;
  say(where, `upsert ${of(upserts)}; query ${of(queries)}; the other writes ${noisy} records/s`);
}

/**
 * Prints the calm tenant's latencies: alone, with the noisy tenant on the other service, and with
 * it on the same one. Each is the median of three rounds.
 */
export async function benchNeighbour(seconds: number, anchoring: boolean): Promise<void> {
  const data = readDataset(20_000);
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'provec-bench-')));
  const environment = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, ...(anchoring ? {} : { PROVEC_LEDGER: 'off' }) };
  const services = await Promise.all(folders.map((each) => startServiceProcess(each, BENCH_KEY, environment)));
  try {
    say('machine', machineText());
    const calm = await createTenant(services[0]!.url, 'calm');
    await createCollection(calm, { name: 'calm', dimensions: data.dims });
    await upsertAll(calm, data, 'calm', CALM_RECORDS);
    const noisyBodies = upsertBodies(data, BATCH, CALM_RECORDS, 100);
    const measure = async (target: Target, collections: string[]): Promise<Round> => {
      const stop = writeOn(target, collections, noisyBodies);
      const figures = await calmRound(calm, data, seconds);
      return { ...figures, noisyPerSecond: await stop() };
    };
    const alone: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push({ ...(await calmRound(calm, data, seconds)), noisyPerSecond: 0 });
    }
    report('alone', alone);
    for (const count of NOISY_COLLECTIONS) {
      const collections = Array.from({ length: count }, (_, at) => `noisy-${count}-${at}`);
      const noisy = await Promise.all(services.map(({ url }) => createTenant(url, `noisy-${count}`)));
      for (const target of noisy) {
        for (const name of collections) await createCollection(target, { name, dimensions: data.dims });
      }
      const [same, other]: [Round[], Round[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        other.push(await measure(noisy[1]!, collections));
        same.push(await measure(noisy[0]!, collections));
      }
      report(`next to another service's ${count} collections`, other);
      report(`next to a noisy tenant's ${count} collections`, same);
    }
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    for (const each of folders) rmSync(each, { recursive: true, force: true });
  }
}
