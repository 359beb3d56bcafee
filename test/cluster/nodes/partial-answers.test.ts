import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServiceBroker } from 'moleculer';
import { toFailure } from '../../../contracts/failure.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import { errorResponse } from '../../../services/gateway/error-response.ts';
import { startBacking } from '../../support/backing-services.ts';
import { startCaller } from '../../support/caller.ts';
import { clientCall } from '../../support/client-call.ts';
import type { ClusterNode } from '../../support/cluster-node.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';

/** Placed at random: one of three nodes holds all of them with a probability of about 3^-15. */
const SHARDS = 16;
const IDS = Array.from({ length: 200 }, (_, at) => `r${at}`);
const QUERY = { vector: [1, 1], topK: IDS.length };
/** Less than the time until a halted node counts as dead. */
const SHORT_MS = 3_000;

interface Answer {
  matches: { id: string }[];
  shards?: { total: number; ok: number; failed: number };
}

let cluster: ClusterProcess;
let caller: ServiceBroker;
let accountId = '';
let collectionId = '';

beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  // Queries that wait for a shard keep their permits at the gateway, so there are enough for all.
  const environment = { PROVEC_LEDGER: 'off', PROVEC_QUERY_CONCURRENCY: '256' };
  cluster = await ClusterProcess.start(backing, { shardNodes: 3, environment });
  caller = await startCaller(backing.dataDir, 'collections');
  const { body } = await cluster.api<{ collection: { id: string } }>('POST', '/collections', {
    name: 'docs',
    dimensions: 2,
    shards: SHARDS,
  });
  collectionId = body.collection.id;
  const records = IDS.map((id, at) => ({ id, values: [at, 1] }));
  expect((await cluster.api('POST', '/collections/docs/upsert', { records })).status).toBe(200);
  accountId = (await cluster.store.catalog.listAccounts())[0]!.id;
});
afterAll(async () => {
  await caller?.stop();
  await cluster?.dispose();
});

const query = (more: object = {}) => cluster.api<Answer>('POST', '/collections/docs/query', { ...QUERY, ...more });
const idsOf = ({ matches }: Answer) => matches.map(({ id }) => id).sort();
const inFull = { status: 200, body: { matches: { length: IDS.length } } };

/** A node that holds some but not all shards, and the ids of the records in the others. */
async function someHolder(): Promise<{ node: ClusterNode; held: number; elsewhere: string[] }> {
  const owners = await cluster.store.owners.list(collectionId);
  const holderOf = new Map(owners.map(({ shard, holder }) => [Number(shard.split('.').at(-1)), holder?.node]));
  const node = cluster.shardNodes.find(({ id }) => [...holderOf.values()].includes(id))!;
  const held = [...holderOf.values()].filter((name) => name === node.id).length;
  const elsewhere = IDS.filter((id) => holderOf.get(shardIndexOf(id, SHARDS)) !== node.id);
  expect(held).toBeLessThan(SHARDS);
  return { node, held, elsewhere };
}

test('only callers that ask for it learn how many shards answered', async () => {
  const plain = await query();
  expect(plain).toMatchObject(inFull);
  expect(Object.keys(plain.body)).toEqual(['matches']);
  expect(Object.keys((await query({ allowPartial: false })).body)).toEqual(['matches']);
  const asked = await query({ allowPartial: true });
  expect(asked).toMatchObject({ ...inFull, body: { shards: { total: SHARDS, ok: SHARDS, failed: 0 } } });
  expect(idsOf(asked.body)).toEqual(idsOf(plain.body));
});

test('while a holder is frozen, a query waits for it, and a partial query answers with the other shards', async () => {
  const { node, held, elsewhere } = await someHolder();
  node.halt();
  try {
    const waiting = query();
    let isAnswered = false;
    waiting.finally(() => {
      isAnswered = true;
    });
    const inTime = { timeout: SHORT_MS };
    const params = { accountId, name: 'docs', ...QUERY };
    const startedMs = performance.now();
    const refused = clientCall(caller, 'collections.query', params, inTime).then(
      () => ({ error: null, afterMs: 0 }),
      (error: unknown) => ({ error, afterMs: performance.now() - startedMs }),
    );
    const lost = IDS.find((id) => !elsewhere.includes(id))!;
    const asked = [{}, { topK: 5 }, { vector: undefined, id: lost }, { vector: undefined, id: elsewhere[0] }];
    const [partial, few, unlike, like] = await Promise.all(asked.map((more) => query({ ...more, allowPartial: true })));
    expect(partial).toMatchObject({
      status: 200,
      body: { shards: { total: SHARDS, ok: SHARDS - held, failed: held } },
    });
    expect(idsOf(partial!.body)).toEqual([...elsewhere].sort());
    expect(few!.body.matches).toEqual(partial!.body.matches.slice(0, 5));
    expect(idsOf(like!.body)).toEqual(idsOf(partial!.body));
    expect(unlike).toMatchObject({ status: 503, body: { code: 'SHARD_UNAVAILABLE' } });
    expect(unlike!.headers.get('retry-after')).toBe('1');
    const { error, afterMs } = await refused;
    expect(afterMs).toBeGreaterThan(SHORT_MS - 100);
    const links = { pricingUrl: '', statusUrl: '' };
    const answer = errorResponse(toFailure(error).error, 'id', links);
    expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' }, body: { code: 'UNAVAILABLE' } });
    expect(isAnswered).toBe(false);
    node.resume();
    expect(await waiting).toMatchObject(inFull);
  } finally {
    node.resume();
  }
  expect(await query()).toMatchObject(inFull);
  expect(await query({ allowPartial: true })).toMatchObject({
    ...inFull,
    body: { shards: { total: SHARDS, ok: SHARDS, failed: 0 } },
  });
});
