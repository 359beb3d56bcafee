import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../../support/until.ts';
import { Flood, HEAVY_QUERY, LIGHT_QUERY, upsertOf } from './flood.ts';
import { type GatedService, startGatedService, type Tenant } from './gated-service.ts';

const PERMITS = 12;
const CONNECTIONS = 64;
const SMALL_REQUESTS = 40;
const MIB = 1024 * 1024;

let service: GatedService;
let small: Tenant;
let floods: Flood[];
beforeEach(async () => {
  service = await startGatedService({
    queues: { query: { permits: PERMITS }, write: { permits: PERMITS } },
    bodies: { maxBytes: 8 * MIB, smallReserveBytes: MIB, smallMaxBytes: 64 * 1024 },
  });
  small = await service.tenant('pro');
  floods = [];
});
afterEach(async () => {
  service.gate.open();
  for (const flood of floods) await flood.end();
  await service.stop();
});

function flooding(tenant: Tenant, lanes: number, path: string, body: string): Flood {
  const flood = new Flood(service.url, tenant.secret, lanes);
  floods.push(flood);
  flood.keepSending(lanes, path, body);
  return flood;
}

const waiting = (queue: string) => service.metric(`provec_gateway_waiting_requests{queue="${queue}"}`);

/**
 * Ends the other accounts' running requests, oldest first, until one more request of `accountId`
 * has begun. Returns how many requests of other accounts began meanwhile.
 */
async function begunBefore(accountId: string, begunAlready: number): Promise<number> {
  const { clock, gate } = service;
  const others = () => gate.begun.length - gate.begunOf(accountId);
  const before = others();
  while (gate.begunOf(accountId) === begunAlready) {
    const oldest = gate.held.find((passing) => passing.accountId !== accountId);
    const { length } = gate.begun;
    clock.advance(100);
    oldest?.pass();
    // When one request ends, the next one begins, whichever account it belongs to.
    await until('another began', () => gate.begun.length > length);
  }
  return others() - before;
}

test('an account flooding heavy queries leaves permits: a small one never waits for it', async () => {
  const big = await service.tenant('pro');
  flooding(big, CONNECTIONS, 'query', HEAVY_QUERY);
  await until('the rest of the flood waits', async () => (await waiting('query')) === CONNECTIONS - (PERMITS * 2) / 3);
  expect(service.gate.heldOf(big.accountId)).toHaveLength((PERMITS * 2) / 3);
  for (let at = 0; at < SMALL_REQUESTS; at++) {
    const answer = small.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY));
    const passing = await until('it began', () => service.gate.heldOf(small.accountId)[0]);
    passing.pass();
    expect((await answer).status).toBe(200);
  }
  expect(service.gate.begunOf(big.accountId)).toBe((PERMITS * 2) / 3);
  expect((await small.usage()).query_count).toBe(SMALL_REQUESTS);
});

test("if floods hold every permit, at most one request of each begins before the small account's", async () => {
  const floodCount = PERMITS + 4;
  const lanes = 8;
  const bigs = await Promise.all(Array.from({ length: floodCount }, () => service.tenant('pro')));
  for (const big of bigs) flooding(big, lanes, 'query', HEAVY_QUERY);
  const backlog = floodCount * lanes - PERMITS;
  let most = 0;
  for (let at = 0; at < SMALL_REQUESTS; at++) {
    await until('no permit is left', async () => (await waiting('query')) === backlog);
    const answer = small.api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY));
    await until('it waits', async () => (await waiting('query')) === backlog + 1);
    most = Math.max(most, await begunBefore(small.accountId, at));
    service.gate.heldOf(small.accountId)[0]!.pass();
    expect((await answer).status).toBe(200);
  }
  expect(most).toBeLessThan(floodCount);
});

describe('a flood of large writes', () => {
  const LARGE = upsertOf(10, 600 * 1024);

  test('takes a share of memory: a small write and query begin at once; refused ones get a Retry-After and cost nothing', async () => {
    const big = await service.tenant('pro');
    const flood = flooding(big, CONNECTIONS, 'upsert', LARGE);
    await until('some are refused', () => flood.count(503) > CONNECTIONS);
    const heldBytes = await service.metric('provec_http_request_bodies_in_flight_bytes');
    expect(heldBytes).toBeGreaterThan(0);
    expect(heldBytes).toBeLessThanOrEqual(5.5 * MIB);
    for (let at = 0; at < SMALL_REQUESTS; at++) {
      const path = at % 2 === 0 ? 'query' : 'upsert';
      const body = JSON.parse(path === 'query' ? LIGHT_QUERY : upsertOf(1)) as object;
      const answer = small.api('POST', `/collections/docs/${path}`, body);
      const passing = await until('it began', () => service.gate.heldOf(small.accountId)[0]);
      passing.pass();
      expect((await answer).status).toBe(200);
    }
    service.gate.open();
    await flood.end();
    for (const { code, retryAfter, status } of flood.answers.filter((answer) => answer.status !== 200)) {
      expect({ status, code }).toEqual({ status: 503, code: 'UNAVAILABLE' });
      expect(Number(retryAfter)).toBeGreaterThanOrEqual(1);
    }
    expect((await big.usage()).write_count).toBe(flood.count(200) * 10);
    expect(await small.usage()).toMatchObject({ query_count: SMALL_REQUESTS / 2, write_count: SMALL_REQUESTS / 2 });
    expect(await service.metric('provec_http_request_bodies_in_flight_bytes')).toBe(0);
    expect(await service.metric('provec_gateway_seats_taken{queue="write"}')).toBe(0);
  });
});
