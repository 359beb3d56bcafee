/**
 * The cost of listing many namespaces of a collection, and whether a client that leaves stops it.
 */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { untilIdle } from '../../../bench/calm.ts';
import { sendRequest } from '../../../bench/http-request.ts';
import { anonymousMiB, cpuSeconds } from '../../../bench/process-figures.ts';
import { type ServiceProcess, startProcess } from '../../support/service-process.ts';
import { TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const MANY = Number(process.env.PROVEC_TEST_RECORDS ?? 300_000);
const FEW = MANY / 10;
/**
 * Number of walks through the few namespaces whose CPU time is added up: the process clock ticks in
 * 10 ms.
 */
const WALKS = 10;
/** A walk through ten times as many namespaces may take this many times as long as ten walks. */
const GROWTH_MAX = 4;
/** Memory that a response or a walk may add to the process. */
const GROWTH_MAX_MIB = 96;
const PAGE = 1_000;
const SAMPLE_MS = 50;
const HEADERS = { authorization: `Bearer ${TEST_KEY}` };

jest.setTimeout(1_200_000);

/** Reads the CPU time of another process from /proc. */
const onLinux = process.platform === 'linux' ? describe : describe.skip;

const nameOf = (at: number) => `customer-${String((at * 7_919) % MANY).padStart(7, '0')}-of-many-${'x'.repeat(30)}`;

let service: ServiceProcess;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

beforeAll(async () => {
  if (process.platform !== 'linux') return;
  service = await startProcess({ PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'error' });
  await fill('few', FEW, 1);
  for (let walks = 0; walks < WALKS; walks++) await walk('few');
  await fill('many', MANY, 1);
  await fill('wide', MANY, 16);
});
afterAll(async () => {
  agent.destroy();
  await service?.dispose();
});

async function fill(name: string, count: number, shards: number): Promise<void> {
  await service.api('POST', '/collections', { name, dimensions: 2, shards });
  const sent = request(`${service.url}/api/v1/collections/${name}/import`, {
    method: 'POST',
    headers: { ...HEADERS, 'content-type': 'application/x-ndjson' },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  for (let from = 0; from < count; from += PAGE) {
    const lines = Array.from(
      { length: Math.min(PAGE, count - from) },
      (_, at) => `${JSON.stringify({ id: 'a', namespace: nameOf(from + at), values: [1, at] })}\n`,
    );
    if (!sent.write(lines.join(''))) await once(sent, 'drain');
  }
  sent.end();
  const [response] = await answered;
  const text = (await response.toArray()).join('');
  expect({ status: response.statusCode, text }).toMatchObject({ status: 200 });
}

interface Cost {
  ms: number;
  /** CPU time of the service, over all threads. */
  cpuSeconds: number;
  /** Largest additional memory during the walk. */
  peakMiB: number;
}

async function costOf(work: () => Promise<void>): Promise<Cost> {
  const [before, heldMiB, beganMs] = [cpuSeconds(service.pid), anonymousMiB(service.pid), performance.now()];
  let peakMiB = 0;
  const sampling = setInterval(() => {
    peakMiB = Math.max(peakMiB, anonymousMiB(service.pid) - heldMiB);
  }, SAMPLE_MS);
  try {
    await work();
  } finally {
    clearInterval(sampling);
  }
  return { ms: performance.now() - beganMs, cpuSeconds: cpuSeconds(service.pid) - before, peakMiB };
}

const show = (what: string, { ms, cpuSeconds: cpu, peakMiB }: Cost) =>
  console.info(`${what}: ${ms.toFixed(0)} ms, CPU ${cpu.toFixed(2)} s, at most ${peakMiB.toFixed(0)} MiB more`);

async function get(path: string): Promise<string> {
  const headers = { ...HEADERS, 'api-key': TEST_KEY };
  const { status, text } = await sendRequest('GET', `${service.url}${path}`, agent, undefined, headers);
  if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 500)}`);
  return text;
}

async function walk(name: string): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const text = await get(`/api/v1/collections/${name}/namespaces?limit=${PAGE}${after}`);
    const page = JSON.parse(text) as { namespaces: { name: string }[]; nextCursor?: string };
    for (const each of page.namespaces) names.push(each.name);
    cursor = page.nextCursor;
  }
  return names;
}

/** Waits for open shards: the service returns 503 if opening takes longer than a request waits. */
const untilOpen = (name: string): Promise<true> =>
  until(`the shards of ${name} are open`, async () => {
    const { status } = await service.api('POST', `/collections/${name}/count`, { allNamespaces: true });
    return status === 200;
  });

const firstPage = (name: string) => () => get(`/api/v1/collections/${name}/namespaces`).then(() => undefined);
const statisticsOf = (name: string) => `/pinecone/indexes/${name}/describe_index_stats`;

/** Sends a request, reads the beginning of the response, and disconnects. */
async function leave(path: string, readsBegin: boolean): Promise<void> {
  const asked = request(`${service.url}${path}`, { headers: { ...HEADERS, 'api-key': TEST_KEY } }).end();
  asked.on('error', () => {});
  if (!readsBegin) {
    const before = cpuSeconds(service.pid);
    while (cpuSeconds(service.pid) - before < 0.1) await delay(5);
  } else {
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    await once(
      response.on('error', () => {}),
      'data',
    );
  }
  asked.destroy();
}

onLinux(`${MANY} namespaces`, () => {
  test.each(['many', 'wide'])('the first page of %s needs no walk', async (name) => {
    show(`first page of ${name}, after the import`, await costOf(firstPage(name)));
    const page = await costOf(firstPage(name));
    show(`a page of ${name}`, page);
    expect(page.cpuSeconds).toBeLessThan(0.5);
  });

  test.each(['many', 'wide'])('a walk through %s returns each once, in order, in linear time', async (name) => {
    await untilIdle(service.pid);
    const few = await costOf(async () => {
      for (let walks = 0; walks < WALKS; walks++) await walk('few');
    });
    let names: string[] = [];
    const many = await costOf(async () => {
      names = await walk(name);
    });
    show(`${WALKS} walks through few`, few);
    show(`a walk through ${name}`, many);
    expect(names).toEqual(Array.from({ length: MANY }, (_, at) => nameOf(at)).sort());
    expect(many.cpuSeconds / few.cpuSeconds).toBeLessThan(GROWTH_MAX);
    expect(many.peakMiB).toBeLessThan(GROWTH_MAX_MIB);
  });

  test.each(['many', 'wide'])('describe_index_stats of %s takes linear time and holds one page', async (name) => {
    await untilIdle(service.pid);
    const few = await costOf(async () => {
      for (let walks = 0; walks < WALKS; walks++) await get(statisticsOf('few'));
    });
    let text = '';
    const many = await costOf(async () => {
      text = await get(statisticsOf(name));
    });
    show(`describe_index_stats of few, ${WALKS} times`, few);
    show(`describe_index_stats of ${name}`, many);
    const { namespaces, totalVectorCount } = JSON.parse(text) as { namespaces: object; totalVectorCount: number };
    expect([Object.keys(namespaces).length, totalVectorCount]).toEqual([MANY, MANY]);
    expect(many.cpuSeconds / few.cpuSeconds).toBeLessThan(GROWTH_MAX);
    expect(many.peakMiB).toBeLessThan(GROWTH_MAX_MIB);
  });

  test.each([
    ['describe_index_stats', statisticsOf('wide'), true],
    ["Pinecone's list of namespaces", '/pinecone/indexes/wide/namespaces', false],
  ])('%s uses no more CPU once its client has left', async (what, path, readsBegin) => {
    await untilIdle(service.pid);
    const whole = await costOf(() => get(path).then(() => undefined));
    await untilIdle(service.pid);
    await leave(path, readsBegin);
    const left = await costOf(() => delay(1_000));
    const after = await costOf(() => delay(1_000));
    show(`${what}, whole`, whole);
    show(`${what}, in the second in which its client left`, left);
    show(`${what}, in the second after that`, after);
    expect(after.cpuSeconds).toBeLessThan(0.1);
  });

  test.each(['many', 'wide'])(
    'after a kill the first page of %s needs no walk, once its shards are open',
    async (name) => {
      await service.restart();
      show(`${name}, opened after a kill`, await costOf(async () => void (await untilOpen(name))));
      const page = await costOf(firstPage(name));
      show(`first page of ${name}, after a kill`, page);
      expect(page.cpuSeconds).toBeLessThan(1);
    },
  );
});
