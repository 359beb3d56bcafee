/**
 * Acknowledged data is unchanged after a stop and after SIGKILL. Seen in earlier systems: a
 * collection is empty after a restart; its metric is forgotten; deleted records are back; one of
 * two concurrent writers has lost its records.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { verifyProof } from '../../client/index.ts';
import type { CollectionDetail, RecordProof } from '../../contracts/actions/collections.ts';
import type { AccountView, KeyView } from '../../contracts/actions/keys.ts';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { apiClient } from '../support/api-client.ts';
import { Content, type SentRecord } from '../support/content.ts';
import { invariant } from '../support/invariant.ts';
import { runningIn } from '../support/process-group.ts';
import { refusal } from '../support/refusal.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, type Tenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';

interface Planned {
  name: string;
  shards: number;
  metric?: string;
  records: Required<SentRecord>[];
}

const record = (at: number) => ({ id: `r${at}`, values: [(at % 256) - 128 || 0.5, 1], metadata: { at } });
const numbered = (count: number) => Array.from({ length: count }, (_, at) => record(at));
/** Each metric ranks these vectors differently for the query [1, 0]. */
const DIRECTIONS = [
  [6, 0.6],
  [1, 0.4],
  [9, 9],
  [0.1, 0],
].map((values, at) => ({ id: `r${at}`, values, metadata: { at, list: [at, null, 'x'] } }));
const ODD_IDS = ['a/b …🧭', '../x', '__proto__', 'a\u0000b', '\ufeffmarked', 'marked', 'e\u0301', 'é', 'x'.repeat(512)];
const PLANNED: Planned[] = [
  // Written to until the stop.
  { name: 'growing', shards: 4, records: numbered(3) },
  { name: 'small', shards: 1, records: numbered(3) },
  { name: 'sharded', shards: 8, records: numbered(500) },
  // Large enough for checkpoints and an index.
  { name: 'indexed', shards: 1, records: numbered(3_000) },
  ...['cosine', 'euclidean', 'dot'].map((metric) => ({ name: metric, metric, shards: 2, records: DIRECTIONS })),
  { name: 'odd-ids', shards: 4, records: ODD_IDS.map((id, at) => ({ id, values: [1, at], metadata: { at } })) },
  ...[1, 8].map((shards) => ({ name: `changed-${shards}`, shards, records: numbered(200) })),
  ...[1, 4].map((shards) => ({ name: `contended-${shards}`, shards, records: [] })),
];

/** Contents of a collection, and what its first check returned. */
interface Kept {
  content: Content;
  records: Map<string, Required<SentRecord>>;
  found?: unknown;
}

let service: ServiceProcess;
let operator: ReturnType<typeof operatorApi>;
const kept = new Map<string, Kept>();
let revoked: KeyView;
let usage: UsageReport;
let keys: KeyView[];
let removed: Tenant;
let remaining: Tenant;

const usageNow = async () => (await service.api<UsageReport>('GET', '/usage')).body;
/** Keys without their last use, which keeps changing. */
const keysNow = async () =>
  (await service.api<{ keys: KeyView[] }>('GET', '/keys')).body.keys.map(({ last_used_at: _, ...key }) => key);

async function upsert(name: string, records: Required<SentRecord>[]): Promise<void> {
  const { content, records: all } = kept.get(name)!;
  const { status, body } = await service.api('POST', `/collections/${name}/upsert`, { records });
  expect({ status, body }).toMatchObject({ status: 200, body: { upsertedCount: records.length } });
  content.upsert(records);
  for (const each of records) all.set(each.id, each);
}

async function remove(name: string, id: string): Promise<void> {
  const { body } = await service.api('POST', `/collections/${name}/delete`, { ids: [id, 'absent'] });
  expect(body).toMatchObject({ deletedCount: 1 });
  kept.get(name)!.content.delete([id]);
  kept.get(name)!.records.delete(id);
}

async function create({ name, shards, metric, records }: Planned): Promise<void> {
  kept.set(name, { content: new Content(), records: new Map() });
  await service.api('POST', '/collections', { name, dimensions: 2, shards, metric });
  for (let at = 0; at < records.length; at += 1_000) await upsert(name, records.slice(at, at + 1_000));
  if (name.startsWith('changed')) {
    await upsert(name, [{ id: 'r1', values: [9, 9], metadata: {} }]);
    await remove(name, 'r2');
  }
  if (name.startsWith('contended')) {
    const write = async (writer: string) => {
      for (let round = 0; round < 6; round++) {
        const ids = [0, 1, 2, 3].map((at) => `${writer}-${round}-${at}`);
        await upsert(
          name,
          ids.map((id, at) => ({ id, values: [round + 1, at], metadata: { writer } })),
        );
        await remove(name, ids[0]!);
      }
    };
    await Promise.all([write('ann'), write('ben')]);
  }
}

beforeAll(async () => {
  service = await startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
  operator = operatorApi(service);
  await Promise.all(PLANNED.map(create));
  revoked = (await service.api<{ key: KeyView }>('POST', '/keys', { name: 'revoked' })).body.key;
  await service.api('POST', '/keys', { name: 'reader', scopes: ['read'], expires_at: '2099-01-01T00:00:00Z' });
  expect(await service.api('DELETE', `/keys/${revoked.id}`)).toMatchObject({ status: 200 });
  for (let at = 0; at < 3; at++) await service.api('POST', '/collections/small/query', { vector: [1, 2] });
  [removed, remaining] = [await createTenant(service, 'pro'), await createTenant(service, 'pro')];
  for (const { api } of [removed, remaining]) {
    await api('POST', '/collections', { name: 'owned', dimensions: 1, shards: 8 });
    await api('POST', '/collections/owned/upsert', { records: [{ id: 'a', values: [1] }] });
  }
  await operator('DELETE', `/admin/accounts/${removed.account.id}`);
  keys = (await keysNow()) as KeyView[];
});
afterAll(() => service.dispose());

test('prints its address first, and does not print a chosen key', () => {
  expect(service.stdout).toMatch(/^Provec listens on http:\/\/127\.0\.0\.1:\d+\n/);
  expect(service.stdout).not.toContain('pv_live_');
});

/** Compares a collection with what was written, through every way to read it. */
async function isAllThere(name: string): Promise<void> {
  const path = `/collections/${name}`;
  const { metric = 'cosine', shards } = PLANNED.find((each) => each.name === name)!;
  const { content, records } = kept.get(name)!;
  const { root, size } = content;
  const described = await service.api<{ collection: CollectionDetail }>('GET', path);
  expect(described.body.collection).toMatchObject({
    metric,
    shards,
    vector_count: size,
    merkleRoot: root,
    anchor: { status: 'confirmed' },
  });
  const verified = await service.api<VerifyResult>('GET', `${path}/verify`);
  expect(verified.body).toMatchObject({
    state: 'match',
    verified: true,
    onChainRoot: root,
    computedRoot: root,
    vectorCount: size,
  });
  expect(verified.body.differences).toBeUndefined();
  const ids = [...records.keys()];
  const some = [...ids.slice(0, 500), ...ids.slice(-1)];
  const fetched = await service.api<{ vectors: object }>('POST', `${path}/fetch`, { ids: [...some, 'absent', 'r2'] });
  const expected = new Set(records.has('r2') ? [...some, 'r2'] : some);
  expect(new Map(Object.entries(fetched.body.vectors))).toEqual(
    new Map([...expected].map((id) => [id, records.get(id)])),
  );
  for (const id of ids.slice(-1)) {
    const { body } = await service.api<{ proof: RecordProof }>('GET', `${path}/proof?id=${encodeURIComponent(id)}`);
    expect(verifyProof(root, body.proof, records.get(id)!)).toBe('present');
  }
}

/** Repeats the searches and expects the first results. */
async function findsTheSame(name: string): Promise<void> {
  const all = kept.get(name)!;
  const queries = [
    { vector: [1, 0], exact: true },
    ...(name === 'indexed' ? [{ vector: [7, 1], filter: { at: 2_999 } }] : []),
  ];
  const found = [];
  for (const query of queries) found.push((await service.api('POST', `/collections/${name}/query`, query)).body);
  all.found ??= found;
  expect(found).toEqual(all.found);
  if (name === 'indexed') expect(found[1]).toMatchObject({ matches: [{ id: 'r2999' }] });
}

const HOW = {
  'before the end': null,
  'after SIGKILL': ['SIGKILL', { code: null, signal: 'SIGKILL' }],
  'after SIGTERM': ['SIGTERM', { code: 0, signal: null }],
} as const;

describe.each(Object.entries(HOW))('%s', (_, how) => {
  beforeAll(async () => {
    usage = await usageNow();
    if (how === null) return;
    const [signal, outcome] = how;
    await upsert('growing', [
      { id: signal, values: [1, 1], metadata: {} },
      { id: 'r0', values: [2, signal.length], metadata: { signal } },
    ]);
    usage.usage.write_count += 2;
    usage.usage.vector_count += 1;
    const group = service.pid;
    expect((await runningIn(group)).length).toBeGreaterThan(1);
    expect(await service.kill(signal)).toEqual(outcome);
    await until('nothing of it runs on', async () => (await runningIn(group)).length === 0);
    await service.restart();
  });

  test('usage and keys are unchanged, and a revoked key stays revoked', async () => {
    const now = await usageNow();
    const { query_count } = usage.usage;
    if (how?.[0] === 'SIGKILL') {
      // Queries that it had taken in advance count as made, and are reported as uncertain.
      expect(now.usage.query_count).toBeGreaterThanOrEqual(query_count);
      expect(now.usage.query_count - now.query_count_uncertainty).toBeLessThanOrEqual(query_count);
      usage.query_count_uncertainty = now.query_count_uncertainty;
      usage.usage.query_count = now.usage.query_count;
    }
    expect(now).toEqual(usage);
    expect(await keysNow()).toEqual(keys);
    expect(await apiClient(service, revoked.secret!)('GET', '/usage')).toEqual(refusal(401, 'UNAUTHENTICATED'));
  });

  test('a deleted account stays deleted, and the others exist', async () => {
    const { accounts } = (await operator<{ accounts: AccountView[] }>('GET', '/admin/accounts')).body;
    expect(accounts.slice(1)).toEqual([remaining.account]);
    expect(await removed.api('GET', '/usage')).toEqual(refusal(401, 'UNAUTHENTICATED'));
    const verified = await remaining.api('GET', '/collections/owned/verify');
    expect(verified.body).toMatchObject({ state: 'match', vectorCount: 1 });
  });

  test.each(PLANNED)('$name', ({ name }) =>
    invariant('all that was acknowledged is there', async () => {
      await isAllThere(name);
      if (name !== 'growing') await findsTheSame(name);
    }),
  );
});
