import { beforeAll, expect, test } from '@jest/globals';
import { Provec, ProvecOperator, verifyOnLedger } from '../../../client/index.ts';
import { ApiDocument } from '../../support/api-document.ts';
import { ledgerAccount } from '../../support/ledger-account.ts';
import { type SharedService, shareService } from '../../support/shared-service.ts';
import { ADMIN_TOKEN } from '../../support/tenant.ts';
import { until } from '../../support/until.ts';

const RECORDS = [
  { id: 'a', values: [1, 0, 0], metadata: { n: 1, kind: 'odd' } },
  { id: 'b/ü', values: new Float32Array([0, 1, 0]), metadata: { n: 2, kind: 'even' } },
  { id: 'c', values: [0, 0, 1], metadata: { n: 3, kind: 'odd' } },
];

let service: SharedService;
let provec: Provec;
let operator: ProvecOperator;
/** Method and path of every request sent by the clients. */
const sent = new Set<string>();
beforeAll(async () => {
  service = await shareService('anchored');
  const watched: typeof fetch = (input, init) => {
    sent.add(`${init!.method} ${new URL(String(input)).pathname}`);
    return fetch(input, init);
  };
  provec = new Provec({ url: `${service.url}/`, apiKey: service.key, fetch: watched });
  operator = new ProvecOperator({ url: service.url, adminToken: ADMIN_TOKEN, fetch: watched });
});

test('creates, describes, changes, lists and deletes a collection', async () => {
  const made = await provec.createCollection({ name: 'notes', dimensions: 3, metric: 'cosine', tags: { of: 'me' } });
  expect(made).toMatchObject({ name: 'notes', dimensions: 3, metric: 'cosine', tags: { of: 'me' } });
  const notes = provec.collection('notes');
  expect(await notes.describe()).toMatchObject({ id: made.id, vector_count: 0, anchor: { status: 'none' } });
  expect(await notes.configure({ deletionProtection: true })).toMatchObject({ deletionProtection: true });
  await expect(provec.deleteCollection('notes')).rejects.toMatchObject({
    name: 'ForbiddenError',
    code: 'FORBIDDEN',
    status: 403,
  });
  await notes.configure({ deletionProtection: false });
  await provec.createCollection({ name: 'other', dimensions: 3 });
  const pages = provec.listCollections({ limit: 1 });
  expect((await pages.all()).map(({ name }) => name).sort()).toEqual(['notes', 'other']);
  expect((await pages.page()).collections).toHaveLength(1);
  await provec.deleteCollection('other');
  await expect(provec.collection('other').describe()).rejects.toMatchObject({
    name: 'NotFoundError',
    code: 'COLLECTION_NOT_FOUND',
  });
});

test('writes, finds, counts, lists and changes records', async () => {
  const notes = provec.collection('notes');
  expect(await notes.upsert({ records: RECORDS })).toMatchObject({ upsertedCount: 3, vectorCount: 3 });
  await notes.upsert({ records: [RECORDS[0]!], namespace: 'second' });
  const vector = new Float64Array([0.1, 0.9, 0]);
  const { matches } = await notes.query({ vector, topK: 1, filter: { n: { $gte: 2 } } });
  expect(matches).toMatchObject([{ id: 'b/ü', metadata: { n: 2, kind: 'even' } }]);
  const results = await notes.queryMany({
    queries: [
      { vector, topK: 1 },
      { id: 'c', topK: 1 },
    ],
  });
  expect(results.map(({ matches: [match] }) => match!.id)).toEqual(['b/ü', 'c']);
  expect(Object.keys(await notes.fetch({ ids: ['a', 'none'] }))).toEqual(['a']);
  expect(await notes.count({ filter: { kind: 'odd' } })).toBe(2);
  expect((await notes.facets({ field: 'kind' })).values).toEqual([
    { value: 'odd', count: 2 },
    { value: 'even', count: 1 },
  ]);
  const listed = await notes.list({ limit: 2, includeValues: true }).all();
  expect(listed.map(({ id, values }) => [id, values])).toEqual(RECORDS.map(({ id, values }) => [id, [...values]]));
  const pages: number[] = [];
  for await (const { records } of notes.list({ limit: 2 }).pages()) pages.push(records.length);
  expect(pages).toEqual([2, 1]);
  const changed = await notes.update({
    updates: [{ id: 'c', values: Float32Array.of(0, 1, 1), setMetadata: { x: 1 } }],
  });
  expect(changed).toMatchObject({ matchedCount: 1, updatedCount: 1 });
  expect(await notes.delete({ ids: ['a'] })).toMatchObject({ deleted: true, deletedCount: 1 });
});

test('lists and deletes namespaces, except those that no path can express', async () => {
  const notes = provec.collection('notes');
  await notes.upsert({ records: [RECORDS[0]!], namespace: '..' });
  expect((await notes.listNamespaces({ limit: 1 }).all()).map(({ name }) => name)).toEqual(['', '..', 'second']);
  expect(await notes.deleteNamespace('second')).toMatchObject({ deletedCount: 1 });
  for (const name of ['..', '.', '']) {
    await expect(notes.deleteNamespace(name)).rejects.toThrow(TypeError);
    await expect(provec.deleteCollection(name)).rejects.toThrow(TypeError);
  }
  expect(await notes.delete({ all: true, namespace: '..' })).toMatchObject({ deletedCount: 1 });
  expect(await notes.count()).toBe(2);
});

test('proves a record against the ledger, and verifies the collection', async () => {
  const notes = provec.collection('notes');
  await until('it is anchored', async () => (await notes.describe()).anchor.status === 'confirmed');
  const { id: collectionId } = await notes.describe();
  const { url: rpcUrl, authority } = service.ledger!;
  const record = { id: 'b/ü', values: [0, 1, 0], metadata: { n: 2, kind: 'even' } };
  const proof = await notes.proof({ id: record.id });
  const trusted = { authority, collectionId, rpcUrl };
  expect(await verifyOnLedger(proof, record, trusted)).toMatchObject({
    outcome: 'present',
    anchor: { vectorCount: 2 },
  });
  const refused = { name: 'VerificationError', reason: 'wrong-content' };
  await expect(verifyOnLedger(proof, { ...record, values: [0, 1, 1] }, trusted)).rejects.toMatchObject(refused);
  const absent = await notes.proof({ id: 'a' });
  expect(await verifyOnLedger(absent, { id: 'a' }, trusted)).toMatchObject({ outcome: 'absent' });
  const { owner, data } = (await ledgerAccount(service, proof.ledgerAddress!))!;
  const readAccount = async () => ({ owner, data });
  const mine = { authority, collectionId, readAccount };
  expect(await verifyOnLedger(proof, record, mine)).toMatchObject({ outcome: 'present' });
  const nowhere = { ...trusted, rpcUrl: 'http://127.0.0.1:1/?key=secret' };
  await expect(verifyOnLedger(proof, record, nowhere)).rejects.toMatchObject({
    name: 'LedgerError',
    message: expect.not.stringContaining('secret'),
  });
  expect(await notes.verify()).toMatchObject({ state: 'match', verified: true });
  const { id } = await notes.startVerification();
  await until('it is done', async () => (await notes.getVerification(id)).state === 'done');
  const anchors = await notes.listAnchors({ limit: 2 }).all();
  expect(await notes.memory()).toMatchObject({ shards: [{ state: 'open' }] });
  const link = await notes.createAuditLink({ label: 'auditors', expiresAt: '2099-01-01T00:00:00Z' });
  const { history } = await provec.getAudit(link.token, { limit: 1 });
  expect(history.anchors).toEqual(anchors.slice(0, 1));
  expect(await notes.listAuditLinks()).toMatchObject([{ id: link.id, label: 'auditors' }]);
  await notes.revokeAuditLink(link.id);
  await expect(provec.getAudit(link.token)).rejects.toMatchObject({ code: 'AUDIT_LINK_NOT_FOUND' });
  expect(anchors[0]).toMatchObject({ merkleRoot: proof.merkleRoot, version: proof.version });
  expect(anchors.length).toBeGreaterThan(2);
});

test('getOrCreate creates a collection once, and rejects other settings', async () => {
  const body = { name: 'once', dimensions: 3, metric: 'dot' } as const;
  const made = await provec.getOrCreate(body);
  expect(made).toMatchObject(body);
  const racing = { ...body, name: 'racing' };
  const [first, second] = await Promise.all([provec.getOrCreate(racing), provec.getOrCreate(racing)]);
  expect(second.id).toBe(first.id);
  expect((await provec.getOrCreate({ name: 'once', dimensions: 3 })).id).toBe(made.id);
  for (const other of [{ dimensions: 4 }, { metric: 'cosine' as const }, { shards: 2 as const }]) {
    const refused = provec.getOrCreate({ ...body, ...other });
    await expect(refused).rejects.toMatchObject({ name: 'ConflictError', code: 'COLLECTION_EXISTS' });
    await expect(refused).rejects.toThrow(`once exists with ${Object.keys(other)[0]}`);
  }
  await provec.putAlias('other', 'once');
  await expect(provec.getOrCreate({ ...body, name: 'other' })).rejects.toThrow(
    'other is an alias of the collection once',
  );
  await expect(provec.getOrCreate({ ...body, name: '-' })).rejects.toMatchObject({ name: 'BadRequestError' });
  await provec.deleteAlias('other');
  for (const name of ['once', 'racing']) await provec.deleteCollection(name);
});

test('an alias refers to a collection', async () => {
  expect(await provec.putAlias('now', 'notes')).toEqual({ alias: 'now', collection: 'notes' });
  expect(await provec.getAlias('now')).toEqual({ alias: 'now', collection: 'notes' });
  expect(await provec.collection('now').count()).toBe(2);
  expect(await provec.listAliases({ limit: 1 }).all()).toHaveLength(1);
  await provec.deleteAlias('now');
  expect(await provec.listAliases().all()).toEqual([]);
});

test('an export can be imported unchanged', async () => {
  const lines: string[] = [];
  for await (const line of (await provec.collection('notes').export()).lines()) lines.push(line);
  await provec.createCollection({ name: 'copy', dimensions: 3 });
  const copied = await provec.collection('copy').import(lines);
  expect(copied).toMatchObject({
    importedCount: 2,
    merkleRoot: (await provec.collection('notes').describe()).merkleRoot,
  });
});

test('keys and usage', async () => {
  const { secret, id } = await provec.createKey({ name: 'reader', scopes: ['read'] });
  const names: string[] = [];
  for await (const { name } of provec.listKeys({ limit: 1 })) names.push(name);
  expect(names).toContain('reader');
  const reader = new Provec({ url: service.url, apiKey: secret });
  await expect(reader.createCollection({ name: 'no', dimensions: 1 })).rejects.toMatchObject({
    name: 'ForbiddenError',
  });
  const [created] = await provec.listAuditEntries().all();
  expect(created).toMatchObject({ seq: 1, phase: 'begin', actor: { type: 'key' } });
  await provec.revokeKey(id);
  await until('it is refused', async () => {
    const refusal = await reader.getUsage().catch((error: unknown) => error);
    return (refusal as Error).name === 'UnauthenticatedError';
  });
  expect(await provec.getDailyUsage({ days: 2 })).toHaveLength(2);
  expect(await provec.getUsage()).toMatchObject({ plan: 'enterprise', usage: { collection_count: 2 } });
});

test('an operator creates, changes and deletes accounts', async () => {
  const { account, key } = await operator.createAccount({ name: 'guest', plan: 'free' });
  expect(await new Provec({ url: service.url, apiKey: key.secret }).listCollections().all()).toEqual([]);
  expect(await operator.changePlan(account.id, { plan: 'pro' })).toMatchObject({ plan: 'pro' });
  expect((await operator.listPlans()).slice(0, 4)).toMatchObject(
    ['free', 'pro', 'business', 'enterprise'].map((name) => ({ name, anchoring: name !== 'free' })),
  );
  const { name: _, source, ...limits } = (await operator.listPlans())[1]!;
  expect(source).toBe('built-in');
  const own = await operator.putPlan('guests', { ...limits, vectors: 7 });
  expect(own).toEqual({ name: 'guests', ...limits, vectors: 7, source: 'stored' });
  await operator.changePlan(account.id, { plan: 'guests' });
  await expect(operator.deletePlan('guests')).rejects.toMatchObject({ code: 'PLAN_IN_USE' });
  expect(await operator.changePlan(account.id, { plan: 'pro' })).toMatchObject({ plan: 'pro' });
  await operator.deletePlan('guests');
  expect((await operator.listAccounts().all()).map(({ id }) => id)).toContain(account.id);
  const listed = (await operator.listAccounts({ usage: true }).all()).find(({ id }) => id === account.id);
  expect(listed).toEqual(await operator.getAccount(account.id));
  expect(listed?.usage).toMatchObject({ plan: 'pro', usage: { key_count: 1 } });
  const replacement = await operator.createKey(account.id, { name: 'replacement' });
  await operator.revokeKey(account.id, key.id);
  const changes = await operator.listAuditEntries().all();
  expect(changes.find(({ action, target }) => action === 'key.revoke' && target === key.id)).toBeDefined();
  expect((await operator.listKeys(account.id).all()).map(({ id }) => id)).toEqual([replacement.id]);
  await operator.deleteAccount(account.id);
});

test('an operator sees the cluster, and is told why a command cannot be carried out', async () => {
  const { shardNodes } = await operator.listNodes();
  expect(shardNodes).toMatchObject([{ error: null, draining: false }]);
  const { id } = await provec.collection('notes').describe();
  expect((await operator.listVerifications({ limit: 1 }).page()).unreachable).toEqual([]);
  const [shard] = await operator.listShards({ collection: id }).all();
  expect(shard).toMatchObject({ shard: `${id}.0`, node: shardNodes[0]!.node, state: 'open' });
  expect((await operator.listCollections({ limit: 1 }).all()).map((each) => each.id)).toContain(id);
  const anchors = await operator.listAnchors().all();
  expect(anchors.find(({ collectionId }) => collectionId === id)?.collection).toMatch(/\/notes$/);
  expect(await operator.listAnchors({ state: 'halted' }).all()).toEqual([]);
  const { account, authority } = await operator.getLedger({ collection: id });
  expect(account?.collectionId).toBe(id);
  expect(authority).toMatch(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/);
  const commands = [
    () => operator.moveShard(shard!.shard, { node: 'elsewhere' }),
    () => operator.drainNode('elsewhere'),
    () => operator.resumeAnchoring(`${shard!.collection}`),
    // The shared service has no folder for backups.
    () => operator.startBackup(),
    () => operator.listBackups().page(),
  ];
  for (const command of commands) await expect(command()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('these tests covered every operation of the OpenAPI document', async () => {
  const document = new ApiDocument(await (await fetch(`${service.url}/openapi.json`)).json());
  const unsent = document.operations.filter(({ method, path }) => {
    const pattern = new RegExp(`^${method} ${path.replace(/\{\w+\}/g, '[^/]+')}$`);
    return path.startsWith('/api/v1') && ![...sent].some((request) => pattern.test(request));
  });
  expect(unsent.map(({ operation }) => operation.operationId)).toEqual([]);
});
