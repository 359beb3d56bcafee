import { beforeAll, expect, test } from '@jest/globals';
import type { Answer, Api } from '../../support/api-client.ts';
import { invariant } from '../../support/invariant.ts';
import { METERED_LIMIT as LIMIT } from '../../support/lending.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { createTenant } from '../../support/tenant.ts';

const CLIENTS = 64;

let service: SharedService;
beforeAll(async () => {
  service = await shareService('metered');
});

/** Each plan limits one thing. */
async function accountOn(plan: 'free' | 'pro' | 'business'): Promise<Api> {
  const { api } = await createTenant(service, plan);
  await api('POST', '/collections', { name: 'demo', dimensions: 1, metric: 'dot', shards: 2 });
  return api;
}

type Sent = Promise<Answer<Record<string, unknown>>>;
const upsert = (api: Api, ...ids: string[]) =>
  api('POST', '/collections/demo/upsert', { records: ids.map((id) => ({ id, values: [1], metadata: {} })) });
const usage = async (api: Api) =>
  (await api<{ usage: Record<'vector_count' | 'write_count' | 'query_count', number> }>('GET', '/usage')).body.usage;

/**
 * Whether a request was accepted. Fails the test for anything but success and the plan's refusal.
 */
function isTaken(answer: Answer<Record<string, unknown>>): boolean {
  if (answer.status !== 200) expect(answer).toMatchObject({ status: 429, body: { code: 'PLAN_LIMIT_REACHED' } });
  return answer.status === 200;
}

/** Every client sends until it is refused; returns the number of accepted requests. */
async function untilRefused(send: (client: number, turn: number) => Sent): Promise<number> {
  let taken = 0;
  const run = async (client: number) => {
    for (let turn = 0; isTaken(await send(client, turn)); turn++) taken += 1;
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, client) => run(client)));
  return taken;
}

/** Sends `count` requests at once; returns the number of accepted ones. */
async function atOnce(count: number, send: (at: number) => Sent): Promise<number> {
  const answers = await Promise.all(Array.from({ length: count }, (_, at) => send(at)));
  return answers.filter(isTaken).length;
}

const limitTest = (title: string, check: () => Promise<void>) =>
  test(title, () => invariant('limits are exact', check));

limitTest('stored vectors reach the limit and never pass it; replacing and deleting go on', async () => {
  const api = await accountOn('free');
  let isFilling = true;
  let most = 0;
  const watch = async () => {
    while (isFilling) most = Math.max(most, (await usage(api)).vector_count);
  };
  const watching = watch();
  expect(await untilRefused((client, turn) => upsert(api, `${client}-${turn}`))).toBe(LIMIT.vectors);
  isFilling = false;
  await watching;
  expect(most).toBeLessThanOrEqual(LIMIT.vectors);
  expect(await usage(api)).toMatchObject({ vector_count: LIMIT.vectors, write_count: LIMIT.vectors });

  const { body } = await api<{ matches: { id: string }[] }>('POST', '/collections/demo/query', {
    vector: [1],
    topK: 1_000,
  });
  const ids = body.matches.map(({ id }) => id);
  expect(ids).toHaveLength(LIMIT.vectors);
  // Replacing records adds none, alone or concurrently. One more new record is one too many.
  expect(await atOnce(CLIENTS, (at) => upsert(api, ids[at]!, ids[at + 1]!))).toBe(CLIENTS);
  expect(await atOnce(CLIENTS, (at) => upsert(api, ids[at]!, `new-${at}`))).toBe(0);
  expect(await usage(api)).toMatchObject({
    vector_count: LIMIT.vectors,
    write_count: LIMIT.vectors + 2 * CLIENTS,
  });

  await api('POST', '/collections/demo/delete', { ids: ids.slice(0, 10) });
  expect(await atOnce(CLIENTS, (at) => upsert(api, `again-${at}`))).toBe(10);
  expect(await usage(api)).toMatchObject({ vector_count: LIMIT.vectors });
});

limitTest('deletes and upserts at the limit at the same time never pass it', async () => {
  const api = await accountOn('free');
  await upsert(api, ...Array.from({ length: LIMIT.vectors }, (_, at) => `r${at}`));
  let deleted = 0;
  let created = 0;
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      if (client % 2 === 0) {
        const { body } = await api('POST', '/collections/demo/delete', { ids: [`r${client}`] });
        deleted += body.deletedCount as number;
      } else if (isTaken(await upsert(api, `new-${client}`))) created += 1;
    }),
  );
  expect(deleted).toBe(CLIENTS / 2);
  expect(await usage(api)).toMatchObject({ vector_count: LIMIT.vectors - deleted + created });
  expect(created).toBeLessThanOrEqual(deleted);
  expect(await atOnce(CLIENTS, (at) => upsert(api, `rest-${at}`))).toBe(deleted - created);
});

limitTest('writes of a month reach the limit exactly, whole requests at a time', async () => {
  const api = await accountOn('pro');
  const batches = await untilRefused((client, turn) =>
    upsert(api, ...[1, 2, 3].map((part) => `${client}-${turn}-${part}`)),
  );
  expect(batches).toBe(Math.floor(LIMIT.writes / 3));
  expect(await usage(api)).toMatchObject({ write_count: 3 * batches, vector_count: 3 * batches });
  expect(await atOnce(CLIENTS, (at) => upsert(api, `single-${at}`))).toBe(LIMIT.writes - 3 * batches);
  expect(await usage(api)).toMatchObject({ write_count: LIMIT.writes, vector_count: LIMIT.writes });
  expect(isTaken(await upsert(api, 'single-0'))).toBe(false);
  expect(await api('POST', '/collections/demo/delete', { ids: ['single-0'] })).toMatchObject({ status: 200 });
});

limitTest('queries of a month reach the limit exactly; what fails costs nothing', async () => {
  const api = await accountOn('business');
  await upsert(api, 'a');
  const query = (body: object) => api('POST', '/collections/demo/query', body);
  expect(await query({ vector: [1, 2] })).toMatchObject({ status: 400 });
  expect(await query({ id: 'absent' })).toMatchObject({ status: 404 });
  expect(await untilRefused(() => query({ vector: [1] }))).toBe(LIMIT.queries);
  expect(await usage(api)).toMatchObject({ query_count: LIMIT.queries });
  expect(await atOnce(CLIENTS, () => query({ id: 'a' }))).toBe(0);
  expect(await usage(api)).toMatchObject({ query_count: LIMIT.queries });
});
