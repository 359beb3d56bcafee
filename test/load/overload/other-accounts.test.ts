/**
 * Compares a calm tenant's latencies on two services: on one, another account sends the most
 * expensive requests for the store, a gateway or a shard; the second service shares only the
 * processor with the first. The calm tenant's requests alternate between the services, so both see
 * the same load.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sendRequest } from '../../../bench/http-request.ts';
import { median } from '../../../bench/median.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, type Tenant } from '../../support/tenant.ts';
import type { Noise, NoiseRequest } from './noise.ts';

const NOISE = fileURLToPath(new URL('./noise.ts', import.meta.url));
const ROUNDS = 5;
/** Requests per kind, round and service. */
const REQUESTS = 150;
const WARM_UP = 30;
const RATIO_MAX = 3;
const KEYS = 6_000;
const COLLECTIONS = 1_500;
const NAMESPACES = 20_000;
const FACETS = 500;
const DIMENSIONS = 8;
const VECTOR = Array.from({ length: DIMENSIONS }, (_, at) => at + 1);

const ENVIRONMENT = {
  PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
  PROVEC_LOG_LEVEL: 'error',
  // The calm tenant does not wait for a ledger.
  PROVEC_PLANS: JSON.stringify({ free: { vectors: -1, writes: -1, queries: -1 } }),
};

/** The calm tenant on one of the services. */
interface Calm {
  url: string;
  secret: string;
}

let services: ServiceProcess[];
/** On the service with the noise, and on the other one. */
let calm: [beside: Calm, apart: Calm];
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  services = await Promise.all([startProcess(ENVIRONMENT), startProcess(ENVIRONMENT)]);
  calm = (await Promise.all(services.map(calmTenant))) as [Calm, Calm];
}, 120_000);
afterAll(async () => {
  agent.destroy();
  await Promise.all(services.map((service) => service.dispose()));
});

async function calmTenant(service: ServiceProcess): Promise<Calm> {
  const { api, key } = await createTenant(service, 'free');
  await created(api('POST', '/collections', { name: 'docs', dimensions: DIMENSIONS }));
  return { url: service.url, secret: key.secret };
}

async function created(answer: ReturnType<Tenant['api']>): Promise<void> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status}: ${JSON.stringify(body)}`);
}

/** Runs `make` for every number below `count`, a few at a time. */
async function each(count: number, make: (at: number) => ReturnType<Tenant['api']>): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let at = next++; at < count; at = next++) await created(make(at));
  };
  await Promise.all(Array.from({ length: 32 }, lane));
}

function noisy(plan: string): Promise<Tenant> {
  return createTenant(services[0]!, plan);
}

/**
 * Sends requests of `tenant` until the returned function is called, which returns the number of
 * responses by status.
 */
function startNoise(tenant: Tenant, lanes: number, requests: NoiseRequest[]): () => Promise<Record<string, number>> {
  const noise: Noise = { url: services[0]!.url, key: tenant.key.secret, lanes, requests };
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', NOISE, JSON.stringify(noise)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return async () => {
    const closed = once(child, 'close');
    child.stdin.end();
    await closed;
    return JSON.parse(text) as Record<string, number>;
  };
}

const UPSERT = { path: 'upsert', body: JSON.stringify({ records: [{ id: 'a', values: VECTOR }] }) };
const GET = { path: 'fetch', body: JSON.stringify({ ids: ['a'] }) };

async function timed({ url, secret }: Calm, { path, body }: typeof UPSERT): Promise<number> {
  const beganMs = performance.now();
  const address = `${url}/api/v1/collections/docs/${path}`;
  const { status, text } = await sendRequest('POST', address, agent, body, { authorization: `Bearer ${secret}` });
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  return performance.now() - beganMs;
}

const quantile = (values: number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!;

/** In ms, with the noise and apart from it. */
interface Figures {
  p50: [beside: number, apart: number];
  p99: [beside: number, apart: number];
}

/** One round; returns figures of writes and of gets. */
async function round(requests = REQUESTS): Promise<[write: Figures, get: Figures]> {
  const kinds = [UPSERT, GET].map((kind) => ({ kind, times: calm.map((): number[] => []) }));
  for (let at = 0; at < requests; at++) {
    for (const { kind, times } of kinds) {
      for (const [side, tenant] of calm.entries()) times[side]!.push(await timed(tenant, kind));
    }
  }
  const figuresOf = (times: number[][]) => ({
    p50: times.map((own) => quantile(own, 0.5)),
    p99: times.map((own) => quantile(own, 0.99)),
  });
  return kinds.map(({ times }) => figuresOf(times)) as [Figures, Figures];
}

async function expectCalm(tenant: Tenant, lanes: number, requests: NoiseRequest[]): Promise<void> {
  const stop = startNoise(tenant, lanes, requests);
  await round(WARM_UP);
  const rounds: [Figures, Figures][] = [];
  for (let at = 0; at < ROUNDS; at++) rounds.push(await round());
  const answers = await stop();
  const lines = (['write', 'get'] as const).map((name, kind) => {
    const figures = rounds.map((each) => each[kind]!);
    const ratios = figures.map(({ p99: [beside, apart] }) => beside / apart);
    const middle = (of: 'p50' | 'p99', side: 0 | 1) => median(figures.map((each) => each[of][side])).toFixed(1);
    const shown = (['p50', 'p99'] as const).map((of) => `${of} ${middle(of, 0)} ms, apart ${middle(of, 1)} ms`);
    return {
      name,
      ratio: median(ratios),
      text: `${name}: ${shown.join('; ')}; ${ratios.map((each) => each.toFixed(2)).join(' ')}`,
    };
  });
  console.info([`noise ${JSON.stringify(answers)}`, ...lines.map(({ text }) => text)].join('\n'));
  for (const { name, ratio } of lines) expect({ name, isCalm: ratio < RATIO_MAX }).toEqual({ name, isCalm: true });
}

describe('a calm tenant waits less than three times as long as during equal load from a second process', () => {
  test('while 40 deletes of an absent key run in an account with 6,000 keys', async () => {
    const tenant = await noisy('enterprise');
    await each(KEYS, (at) => tenant.api('POST', '/keys', { name: `key ${at}`, scopes: ['read'] }));
    await expectCalm(tenant, 40, [{ method: 'DELETE', path: '/keys/absent' }]);
  }, 600_000);

  test('while 30 clients walk a list of 1,500 collections with the maximum of tags', async () => {
    const tenant = await noisy('enterprise');
    const tags = Object.fromEntries(
      Array.from({ length: 20 }, (_, at) => [`${at}`.padEnd(80, 'n'), `${at}`.padEnd(120, 't')]),
    );
    await each(COLLECTIONS, (at) =>
      tenant.api('POST', '/collections', { name: `c${at}`, dimensions: DIMENSIONS, tags }),
    );
    await expectCalm(tenant, 30, [{ method: 'GET', path: '/collections' }]);
  }, 600_000);

  test.each([
    ['free', 4],
    ['enterprise', 256],
  ])(
    'while proofs, dry runs and views of a collection with all the shards of %s are requested',
    async (plan, shards) => {
      const tenant = await noisy(plan);
      await created(tenant.api('POST', '/collections', { name: 'wide', dimensions: DIMENSIONS, shards }));
      const records = Array.from({ length: 1_000 }, (_, at) => ({
        id: `r${at}`,
        values: VECTOR,
        metadata: { n: at },
      }));
      await created(tenant.api('POST', '/collections/wide/upsert', { records }));
      const filter = { n: { $gte: 0 } };
      await expectCalm(tenant, 30, [
        { method: 'GET', path: '/collections/wide/proof?id=r1' },
        { method: 'POST', path: '/collections/wide/delete', body: { filter, dryRun: true } },
        { method: 'GET', path: '/collections/wide' },
        { method: 'POST', path: '/collections/wide/update', body: { filter, setMetadata: { n: 1 }, dryRun: true } },
      ]);
    },
    600_000,
  );

  test('while namespaces and facets are listed', async () => {
    const tenant = await noisy('enterprise');
    await created(tenant.api('POST', '/collections', { name: 'many', dimensions: DIMENSIONS }));
    const { url } = services[0]!;
    const lines = Array.from({ length: NAMESPACES }, (_, at) =>
      JSON.stringify({ id: 'a', namespace: `n${at}`.padEnd(200, 'x'), values: VECTOR }),
    );
    const headers = { authorization: `Bearer ${tenant.key.secret}`, 'content-type': 'application/x-ndjson' };
    const { status, text } = await sendRequest(
      'POST',
      `${url}/api/v1/collections/many/import`,
      agent,
      lines.join('\n'),
      headers,
    );
    expect({ status, text }).toMatchObject({ status: 200 });
    for (let from = 0; from < FACETS; from += 100) {
      const records = Array.from({ length: 100 }, (_, at) => ({
        id: `f${from + at}`,
        values: VECTOR,
        metadata: { text: `${from + at}`.padStart(40_000, 'x') },
      }));
      await created(tenant.api('POST', '/collections/many/upsert', { records }));
    }
    await expectCalm(tenant, 30, [
      { method: 'GET', path: '/collections/many/namespaces?limit=1000' },
      { method: 'POST', path: '/collections/many/facets', body: { field: 'text', limit: 10 } },
    ]);
  }, 600_000);
});
