/** Background verifications, started and watched through any gateway. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { ServiceBroker } from 'moleculer';
import { call } from '../../../contracts/actions/call.ts';
import type { Verification, VerificationOverview } from '../../../contracts/actions/verification.ts';
import { Placement } from '../../../lib/placement/placement.ts';
import { type Api, apiClient } from '../../support/api-client.ts';
import { startBacking } from '../../support/backing-services.ts';
import { startCaller } from '../../support/caller.ts';
import type { ClusterNode } from '../../support/cluster-node.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { refusal } from '../../support/refusal.ts';
import { ADMIN_TOKEN, TEST_KEY } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const SHARDS = 4;
const COUNT = 400;
/** Records in a single shard: enough that the verification can be observed while it runs. */
const LARGE_COUNT = 40_000;
const BATCH = 1_000;
const PATH = '/collections/docs/verifications';
const TOLD_MS = 20_000;

let cluster: ClusterProcess;
let collectionId: string;
let accountId: string;
let caller: ServiceBroker;
/** One client per gateway. */
let apis: Api[];

beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  const environment = { PROVEC_LEDGER: 'off', PROVEC_ADMIN_TOKEN: ADMIN_TOKEN };
  cluster = await ClusterProcess.start(backing, { shardNodes: 2, gateways: 2, controls: 2, environment });
  caller = await startCaller(backing.dataDir, 'cluster');
  apis = cluster.gateways.map(({ url }) => apiClient(url!, TEST_KEY));
  const created = { name: 'docs', dimensions: 2, shards: SHARDS };
  const { body } = await cluster.api<{ collection: { id: string } }>('POST', '/collections', created);
  collectionId = body.collection.id;
  accountId = (await cluster.store.catalog.listAccounts())[0]!.id;
  const records = Array.from({ length: COUNT }, (_, at) => ({ id: `r${at}`, values: [at, 1] }));
  expect(await cluster.api('POST', '/collections/docs/upsert', { records })).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await caller?.stop();
  await cluster?.dispose();
});

const look = (api: Api, id: string) => api<Verification>('GET', `${PATH}/${id}`);
async function expectDone(id: string): Promise<void> {
  for (const api of apis) {
    const end = await until('it has ended', async () => {
      const { body } = await look(api, id);
      return body.state !== 'running' && body;
    });
    expect(end).toMatchObject({
      state: 'done',
      progress: { scanned: COUNT, total: COUNT },
      result: { state: 'not_anchored', vectorCount: COUNT },
    });
  }
}

/** The running instance that starts the collection's verifications. */
function inCharge(): ClusterNode {
  const running = cluster.controls.filter(({ isRunning }) => isRunning);
  const placement = new Placement(running.map(({ id }) => ({ node: id, weight: 1 })));
  return cluster.node(placement.preferred(collectionId)!);
}

test('concurrent requests at several gateways get the same verification, and each gateway reports it', async () => {
  const begun = await Promise.all([...apis, ...apis].map((api) => api<Verification>('POST', PATH)));
  expect(new Set(begun.map(({ status, body }) => `${status} ${body.id}`)).size).toBe(1);
  await expectDone(begun[0].body.id);
});

test('the operator sees verifications of every instance at any gateway, a running one first', async () => {
  const operators = cluster.gateways.map(({ url }) => apiClient(url!, ADMIN_TOKEN));
  const list = (api: Api, query = '') =>
    api<{ verifications: VerificationOverview[]; nextCursor?: string }>('GET', `/admin/verifications${query}`);
  const ended = await begun(apis[0]);
  await expectDone(ended);
  for (const node of cluster.shardNodes) node.halt();
  const id = await begun(apis[0]);
  const overview = { collectionId, collection: `${accountId}/docs`, startedAt: expect.any(String) };
  for (const operator of operators) {
    const { body } = await list(operator);
    expect(body).toMatchObject({ unreachable: [] });
    expect(body.verifications[0]).toEqual({
      ...{ ...overview, id, state: 'running', endedAt: null, verdict: null, error: null },
      progress: { scanned: expect.any(Number), total: COUNT },
    });
    expect(body.verifications).toContainEqual({
      ...{ ...overview, id: ended, state: 'done', endedAt: expect.any(String), verdict: 'not_anchored', error: null },
      progress: { scanned: COUNT, total: COUNT },
    });
    const first = await list(operator, '?limit=1');
    expect(first.body).toMatchObject({ verifications: [{ id }], nextCursor: '1' });
    expect((await list(operator, '?limit=1&cursor=1')).body.verifications).toEqual([body.verifications[1]]);
  }
  for (const node of cluster.shardNodes) node.resume();
  await expectDone(id);
});

test('shows the progress of a shard on another node', async () => {
  await cluster.api('POST', '/collections', { name: 'large', dimensions: 16 });
  for (let from = 0; from < LARGE_COUNT; from += BATCH) {
    const records = Array.from({ length: BATCH }, (_, at) => ({ id: `r${from + at}`, values: Array(16).fill(at + 1) }));
    expect(await cluster.api('POST', '/collections/large/upsert', { records })).toMatchObject({ status: 200 });
  }
  const path = '/collections/large/verifications';
  const { id } = (await apis[0]<Verification>('POST', path)).body;
  const seen: number[] = [];
  await until('it is done', async () => {
    const { state, progress } = (await apis[1]<Verification>('GET', `${path}/${id}`)).body;
    expect(progress.total).toBe(LARGE_COUNT);
    seen.push(progress.scanned);
    return state === 'done';
  });
  expect(seen).toEqual(seen.toSorted((one, other) => one - other));
  expect(seen.filter((scanned) => scanned > 0 && scanned < LARGE_COUNT)).not.toEqual([]);
  expect(seen.at(-1)).toBe(LARGE_COUNT);
});

describe('while the shard nodes are frozen', () => {
  let id: string;
  beforeEach(async () => {
    for (const node of cluster.shardNodes) node.halt();
    id = (await apis[0]<Verification>('POST', PATH)).body.id;
  });
  afterEach(resume);

  function resume(): void {
    for (const node of cluster.shardNodes) node.resume();
  }

  test('requests wait for them, and all requests meanwhile get the same verification', async () => {
    const running = { status: 202, body: { id, state: 'running' } };
    for (const api of apis) expect(await api('POST', PATH)).toMatchObject(running);
    resume();
    await expectDone(id);
  });

  test('a verification in a killed process is not found, and another one begins anew', async () => {
    await inCharge().kill();
    for (const api of apis) {
      const startedMs = performance.now();
      await until('nobody waits for it', async () => (await look(api, id)).status !== 503);
      expect(await look(api, id)).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
      expect(performance.now() - startedMs).toBeLessThan(TOLD_MS);
    }
    const next = await begun(apis[0]);
    expect(next).not.toBe(id);
    resume();
    await expectDone(next);
  });

  test('an instance that takes charge finds one that runs elsewhere', async () => {
    const [stayed] = cluster.controls.filter(({ isRunning }) => isRunning);
    const returned = cluster.controls.find(({ isRunning }) => !isRunning)!;
    await returned.start();
    expect(inCharge()).toBe(returned);
    const options = { nodeID: returned.id };
    await until('they know each other', async () => {
      const { others } = await call(caller, 'cluster.nodes', {}, options).catch(() => ({ others: [] }));
      return others.some(({ node, services }) => node === stayed.id && services.includes('verification'));
    });
    const named = { accountId, name: 'docs' };
    expect(await call(caller, 'verification.begin', named, options)).toMatchObject({ id, state: 'running' });
    expect(await call(caller, 'verification.get', { ...named, id }, options)).toMatchObject({ state: 'running' });
    for (const api of apis) expect(await begun(api)).toBe(id);
    resume();
    await expectDone(id);
  });
});

/**
 * Starts a verification and returns its id. Retries, because a node that has just gone may refuse
 * it.
 */
async function begun(api: Api): Promise<string> {
  return until('one is begun', async () => {
    const { status, body } = await api<Verification>('POST', PATH);
    return status === 202 && body.id;
  });
}
