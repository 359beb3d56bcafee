import { afterEach, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { until } from '../../support/until.ts';
import { Flood, HEAVY_QUERY, LIGHT_QUERY, upsertOf } from './flood.ts';
import { ADMIN_TOKEN, type GatedService, startGatedService, type Tenant } from './gated-service.ts';

const V1 = '/api/v1';
const PERMITS = 4;
/** A single account gets two thirds of the permits, rounded down. */
const TAKEN = 2;
const WAITING = 20;

let service: GatedService;
afterEach(async () => {
  service.gate.open();
  await service.stop();
});

const waiting = (queue = 'query') => service.metric(`provec_gateway_waiting_requests{queue="${queue}"}`);
const taken = (queue = 'query') => service.metric(`provec_gateway_seats_taken{queue="${queue}"}`);
const refusals = (queue: string, reason: string) =>
  service.metric(`provec_gateway_refusals_total{queue="${queue}",reason="${reason}"}`);

function rawQuery(tenant: Tenant): string {
  return `POST ${V1}/collections/docs/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.secret}\r\nContent-Length: ${LIGHT_QUERY.length}\r\n\r\n${LIGHT_QUERY}`;
}
const rawList = (tenant: Tenant) =>
  `GET ${V1}/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant.secret}\r\n\r\n`;
const statusesOf = ({ received }: RawConnection) =>
  [...received.matchAll(/HTTP\/1\.1 ([2-5]\d\d) /g)].map(([, status]) => Number(status));

/** No request is refused for waiting too long. */
const small = { permits: PERMITS, waitingPerAccountMax: WAITING, waitingMax: 2 * WAITING, waitMaxMs: 600_000 };

test('of 10,000 pipelined requests on a few connections, no more wait than allowed; each is answered, in order', async () => {
  service = await startGatedService({ queues: { query: small, other: small } });
  const tenant = await service.tenant('pro');
  const connections = Array.from({ length: 10 }, () => new RawConnection(service.port));
  for (const connection of connections) connection.write(rawQuery(tenant).repeat(500) + rawList(tenant).repeat(500));
  await until('the queue is full and others are refused', async () => (await refusals('query', 'account full')) > 0);
  expect(await waiting()).toBe(WAITING);
  expect(service.gate.held).toHaveLength(TAKEN);
  let mostWaiting = 0;
  while (connections.some((connection) => statusesOf(connection).length < 1_000)) {
    service.gate.held[0]?.pass();
    mostWaiting = Math.max(mostWaiting, (await waiting()) + (await waiting('other')));
  }
  expect(mostWaiting).toBeLessThanOrEqual(2 * WAITING);
  const statuses = connections.flatMap(statusesOf);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  const answered = service.gate.begun.length;
  expect((await tenant.usage()).query_count).toBe(answered);
  expect(statuses.filter((status) => status === 503)).toHaveLength(
    (await refusals('query', 'account full')) + (await refusals('other', 'account full')),
  );
  for (const connection of connections) {
    expect(connection.received.split('Retry-After: ').length - 1).toBe(
      statusesOf(connection).filter((status) => status === 503).length,
    );
    connection.destroy();
  }
  expect([await waiting(), await taken()]).toEqual([0, 0]);
});

test('clients that disconnect while they wait free their places, and nothing is done for them', async () => {
  service = await startGatedService({ queues: { query: small } });
  const tenant = await service.tenant('pro');
  const patient = new RawConnection(service.port);
  patient.write(rawQuery(tenant).repeat(TAKEN));
  await until('the permits are taken', () => service.gate.held.length === TAKEN);
  const impatient = Array.from({ length: WAITING / 4 }, () => new RawConnection(service.port));
  for (const connection of impatient) connection.write(rawQuery(tenant).repeat(4));
  await until('the queue is full', async () => (await waiting()) === WAITING);
  expect((await tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY))).status).toBe(503);
  for (const connection of impatient) connection.destroy();
  await until('nobody waits', async () => (await waiting()) === 0);
  const late = tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY));
  await until('a place was free', async () => (await waiting()) === 1);
  service.gate.open();
  expect((await late).status).toBe(200);
  expect(service.gate.begun).toHaveLength(TAKEN + 1);
  expect((await tenant.usage()).query_count).toBe(TAKEN + 1);
  patient.destroy();
});

test('if all queues are full, the longest gives way to a request in a short one', async () => {
  service = await startGatedService({ queues: { query: { permits: 2, waitingMax: WAITING } } });
  const [big, small] = [await service.tenant('pro'), await service.tenant('pro')];
  const flood = new Flood(service.url, big.secret, WAITING + 1);
  for (let at = 0; at < WAITING + 1; at++) void flood.send('query', HEAVY_QUERY);
  await until('all places are taken', async () => (await waiting()) === WAITING);
  const answers = [small, small, small].map((tenant) =>
    tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY)),
  );
  await until('the flood gave way', () => flood.count(503) === 2);
  expect(await waiting()).toBe(WAITING);
  expect(flood.answers.map(({ retryAfter }) => Number(retryAfter) >= 1)).toEqual([true, true]);
  service.gate.open();
  for (const answer of answers) expect((await answer).status).toBe(200);
  await flood.end();
  expect((await big.usage()).query_count).toBe(flood.count(200));
});

test('a request whose turn does not come in time is refused, with the time it waited', async () => {
  service = await startGatedService({ queues: { query: { permits: 1, waitMaxMs: 50 } } });
  const tenant = await service.tenant('pro');
  const first = tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY));
  await until('the permit is taken', () => service.gate.held.length === 1);
  const second = tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY));
  await until('it waits', async () => (await waiting()) === 1 || (await refusals('query', 'waited')) === 1);
  const refused = await second;
  expect(refused).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE', retryAfterSeconds: 1 } });
  expect(refused.headers.get('retry-after')).toBe('1');
  service.gate.open();
  expect((await first).status).toBe(200);
  expect((await tenant.usage()).query_count).toBe(1);
});

test('health, deletes and operator routes are answered while every queue and all body memory are full', async () => {
  const MIB = 1024 * 1024;
  service = await startGatedService({
    queues: { query: { permits: 1, waitingMax: 1 }, write: { permits: 2 }, other: { permits: 1, waitingMax: 1 } },
    bodies: { maxBytes: 2 * MIB, smallReserveBytes: 1024, smallMaxBytes: 1024 },
  });
  const [big, small] = [await service.tenant('pro'), await service.tenant('pro')];
  const floods = ['query', 'upsert'].map(() => new Flood(service.url, big.secret, 32));
  floods[0]!.keepSending(16, 'query', HEAVY_QUERY);
  floods[1]!.keepSending(16, 'upsert', upsertOf(1, MIB));
  await until('both floods are refused', () => floods.every((flood) => flood.count(503) > 16));
  for (const page of ['/livez', '/readyz', '/metrics', '/openapi.json']) {
    expect([page, (await fetch(`${service.url}${page}`)).status]).toEqual([page, 200]);
  }
  for (const tenant of [big, small]) {
    const answer = tenant.api('POST', '/collections/docs/delete', { ids: ['a', 'b'] });
    const passing = await until('the delete began', () => service.gate.held.find(({ what }) => what === 'delete'));
    passing.pass();
    expect(await answer).toMatchObject({ status: 200, body: { deletedCount: 2 } });
  }
  const operator = apiClient(service.url, ADMIN_TOKEN);
  expect((await operator('GET', '/admin/accounts')).status).toBe(200);
  service.gate.open();
  for (const flood of floods) await flood.end();
});

test('a stop ends waiting requests with a Retry-After, and answers running ones', async () => {
  service = await startGatedService({ queues: { query: small }, drainWaitMaxMs: 50 });
  const tenant = await service.tenant('pro');
  const flood = new Flood(service.url, tenant.secret, 12);
  for (let at = 0; at < 12; at++) void flood.send('query', LIGHT_QUERY);
  await until('the rest waits', async () => (await waiting()) === 12 - TAKEN);
  const stopped = service.stop();
  await until('all that waited are refused', () => flood.count(503) === 12 - TAKEN);
  service.gate.open();
  await flood.end();
  expect(flood.count(200)).toBe(TAKEN);
  for (const { retryAfter } of flood.answers.filter(({ status }) => status === 503)) expect(retryAfter).toBe('1');
  await stopped;
});

test('unauthenticated requests are bounded too', async () => {
  service = await startGatedService({ arrivalsMax: 10 });
  const tenant = await service.tenant('pro');
  // While the keys service is unreachable, every request waits for it.
  let asked = 0;
  const keys = service.broker.getLocalService('keys')!;
  await service.broker.destroyService(keys);
  let answerAll = () => {};
  const answering = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  service.broker.createService({
    name: 'keys',
    actions: {
      authenticate: async () => {
        asked++;
        await answering;
        return { accountId: tenant.accountId, keyId: 'k', scopes: ['read', 'write'] };
      },
      plan: () => 'pro',
    },
  });
  await service.broker.waitForServices('keys');
  const flood = new Flood(service.url, tenant.secret, 40);
  for (let at = 0; at < 40; at++) void flood.send('query', LIGHT_QUERY);
  await until('the rest is refused', () => flood.count(503) === 30);
  expect(asked).toBe(10);
  void flood.send('delete', '{"ids":["a"]}');
  await until('a delete is asked about all the same', () => asked === 11);
  service.gate.open();
  answerAll();
  await flood.end();
  expect(flood.count(200)).toBe(11);
  expect(await refusals('arrivals', 'all full')).toBe(30);
});

test("a write's memory counts until its action has ended, not only until it was read", async () => {
  service = await startGatedService();
  const tenant = await service.tenant('pro');
  const upsert = upsertOf(200);
  const heldBytes = () => service.metric('provec_http_request_bodies_in_flight_bytes');
  const answer = tenant.api('POST', '/collections/docs/upsert', JSON.parse(upsert));
  await until('it began', () => service.gate.held.length === 1);
  expect(await heldBytes()).toBe(upsert.length);
  service.gate.open();
  expect((await answer).status).toBe(200);
  expect(await heldBytes()).toBe(0);
});

test('a query takes a permit for each shard that it searches, a write one', async () => {
  const shards = 4;
  service = await startGatedService({ queues: { query: { permits: 3 * shards } } });
  const tenant = await service.tenant('pro', shards);
  const queries = [1, 2, 3].map(() => tenant.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY)));
  await until('one waits', async () => (await waiting()) === 1);
  expect([await taken(), service.gate.held.length]).toEqual([2 * shards, 2 * shards]);
  const upsert = tenant.api('POST', '/collections/docs/upsert', JSON.parse(upsertOf(20)));
  await until('it began', () => service.gate.held.some(({ what }) => what === 'upsert'));
  expect(await taken('write')).toBe(1);
  service.gate.open();
  for (const answer of [...queries, upsert]) expect((await answer).status).toBe(200);
  expect([await taken(), await taken('write')]).toEqual([0, 0]);
});
