import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AuditLinkView, AuditView, NewAuditLink } from '../../contracts/actions/collections.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { type Api, apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { startService, type TestService } from '../support/service.ts';
import { inStoreFile } from '../support/store-file.ts';
import { ADMIN_TOKEN, createTenant, type Tenant } from '../support/tenant.ts';

const SECRET_ID = 'record-of-nobody';
const GONE = refusal(404, 'AUDIT_LINK_NOT_FOUND', { error: 'There is no such audit link.' });
const UNKNOWN = `pv_audit_${'A'.repeat(43)}`;
const HOUR_MS = 3_600_000;

let service: TestService;
let tenant: Tenant;
let api: Api;
let name: string;
let shiftMs = 0;
beforeAll(async () => {
  const clock = { wallMs: () => SYSTEM_CLOCK.wallMs() + shiftMs, monotonicMs: () => SYSTEM_CLOCK.monotonicMs() };
  const environment = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_LOG_LEVEL: 'debug' };
  service = await startService(environment, { clock });
  tenant = await createTenant(service, 'enterprise', 'secret-account');
  api = tenant.api;
});
afterAll(() => service.stop());

beforeEach(async () => {
  shiftMs = 0;
  name = `c-${randomUUID()}`;
  await api('POST', '/collections', { name, dimensions: 2, tags: { 'secret-tag': 'x' } });
});

/** Writes a record and returns once its root is anchored. */
async function write(id = SECRET_ID): Promise<void> {
  const records = [{ id, values: [0.25, 0.75], metadata: { 'secret-field': 1 } }];
  expect((await api('POST', `/collections/${name}/upsert`, { records })).body).toMatchObject({
    anchor: { status: 'confirmed' },
  });
}
async function create(body: object = {}): Promise<NewAuditLink> {
  const answer = await api<{ link: NewAuditLink }>('POST', `/collections/${name}/audit-links`, body);
  expect(answer.status).toBe(201);
  return answer.body.link;
}
const list = async (): Promise<AuditLinkView[]> =>
  (await api<{ links: AuditLinkView[] }>('GET', `/collections/${name}/audit-links`)).body.links;

/** Reads a link without a key; waits when the address has sent too many. */
async function show(token: string, search = '') {
  for (;;) {
    const response = await fetch(`${service.url}/api/v1/audit-links/${token}${search}`);
    if (response.status !== 429)
      return { status: response.status, headers: response.headers, body: (await response.json()) as AuditView };
    await response.arrayBuffer();
  }
}

test('shows roots, anchors and counts to anyone, and no data', async () => {
  const { token, ...link } = await create({ label: "It's public \u{1f50d}", expiresAt: '2099-01-01T00:00:00+01:00' });
  expect(token).toMatch(/^pv_audit_[\w-]{43}$/);
  expect(link).toMatchObject({ label: "It's public \u{1f50d}", expiresAt: '2098-12-31T23:00:00.000Z' });
  expect((await show(token)).body).toMatchObject({
    vectorCount: 0,
    anchor: { status: 'none' },
    history: { anchors: [] },
  });
  await write();
  await write('second');
  const { status, headers, body } = await show(token, '?limit=1');
  const { body: detail } = await api<{ collection: Record<string, unknown> }>('GET', `/collections/${name}`);
  const { body: past } = await api<AuditView['history']>('GET', `/collections/${name}/anchors?limit=1`);
  expect(status).toBe(200);
  expect(body).toEqual({
    collectionId: detail.collection.id,
    label: link.label,
    expiresAt: link.expiresAt,
    merkleRoot: detail.collection.merkleRoot,
    version: detail.collection.version,
    vectorCount: 2,
    anchor: detail.collection.anchor,
    ledger: { program: expect.any(String), authority: expect.any(String), cluster: expect.any(String) },
    history: past,
  });
  expect(JSON.stringify(body)).not.toMatch(/secret-|record-of|0\.25|0\.75|c-[0-9a-f]{8}/);
  expect((await show(token, `?cursor=${past.nextCursor}`)).body.history.anchors).toHaveLength(1);
  expect(Object.fromEntries(headers)).toMatchObject({
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
    'cache-control': 'no-store',
  });
});

test('an unknown, malformed, revoked or expired link and one of a deleted collection get the same 404', async () => {
  for (const token of [UNKNOWN, 'x', '%00', `${UNKNOWN}A`, 'pv_audit_']) expect(await show(token)).toEqual(GONE);
  const [revoked, expiring, orphan] = [
    await create(),
    await create({ expiresAt: new Date(Date.now() + HOUR_MS).toISOString() }),
    await create(),
  ];
  for (const { token } of [revoked, expiring, orphan]) expect((await show(token)).status).toBe(200);
  expect(await api('DELETE', `/collections/${name}/audit-links/${revoked.id}`)).toMatchObject({
    status: 200,
    body: { revoked: true },
  });
  expect(await show(revoked.token)).toEqual(GONE);
  shiftMs = 2 * HOUR_MS;
  expect(await show(expiring.token)).toEqual(GONE);
  expect((await show(orphan.token)).status).toBe(200);
  await api('DELETE', `/collections/${name}`);
  expect(await show(orphan.token)).toEqual(GONE);
  expect((await show(orphan.token)).headers.get('referrer-policy')).toBe('no-referrer');
  await api('POST', '/collections', { name, dimensions: 2 });
  expect(await show(orphan.token)).toEqual(GONE);
  expect(await list()).toEqual([]);
});

test('links are listed newest first without tokens, and belong to the collection, not to an alias', async () => {
  const alias = `a-${randomUUID()}`;
  await api('PUT', `/aliases/${alias}`, { collection: name });
  const first = await create({ label: 'first' });
  shiftMs = 1_000;
  const { body } = await api<{ link: NewAuditLink }>('POST', `/collections/${alias}/audit-links`, {});
  const { token: _, ...second } = body.link;
  expect(second).toMatchObject({ label: null, expiresAt: null });
  expect(await list()).toEqual([second, { ...first, token: undefined }]);
  expect(JSON.stringify(await list())).not.toContain('pv_audit');
});

test('needs the scope manage, and names what is wrong', async () => {
  const { token, id } = await create();
  const { body } = await api<{ key: { secret: string } }>('POST', '/keys', { name: 'r', scopes: ['read', 'write'] });
  const reader = apiClient(service, body.key.secret);
  const path = `/collections/${name}/audit-links`;
  for (const [method, where] of [
    ['POST', path],
    ['GET', path],
    ['DELETE', `${path}/${id}`],
  ] as const)
    expect(await reader(method, where, method === 'POST' ? {} : undefined)).toEqual(refusal(403, 'FORBIDDEN'));
  const other = await createTenant(service, 'enterprise', 'other');
  expect(await other.api('GET', path)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
  expect(await other.api('DELETE', `${path}/${id}`)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
  await other.api('POST', '/collections', { name, dimensions: 2 });
  expect(await other.api('DELETE', `${path}/${id}`)).toEqual(GONE);
  expect((await show(token)).status).toBe(200);
  expect(await api('POST', path, { label: '' })).toEqual(refusalOf('label'));
  expect(await api('POST', path, { label: 'x'.repeat(65) })).toEqual(refusalOf('label'));
  expect(await api('POST', path, { expiresAt: 'soon' })).toEqual(refusalOf('expiresAt'));
  expect(await api('POST', path, { expiresAt: '2020-01-01T00:00:00Z' })).toEqual(refusalOf('expiresAt'));
  expect(await api('DELETE', `${path}/${randomUUID()}`)).toEqual(GONE);
  expect(await show(token, '?limit=0')).toEqual(refusalOf('limit'));
  expect(await show(token, '?cursor=x')).toEqual(refusalOf('cursor'));
  expect(await show(token, '?id=x')).toEqual(refusalOf('id'));
});

test('a collection has at most 100 links', async () => {
  for (let count = 0; count < 100; count++) await create();
  const path = `/collections/${name}/audit-links`;
  expect(await api('POST', path, {})).toEqual(refusal(409, 'AUDIT_LINK_LIMIT_REACHED'));
  const [newest] = await list();
  await api('DELETE', `${path}/${newest!.id}`);
  await create();
});

test('an address may only send so many tokens in a second', async () => {
  const count = 5 * INTERNAL_LIMITS.auditAddressRequestsPerSecond;
  const url = `${service.url}/api/v1/audit-links/${UNKNOWN}`;
  const answers = await Promise.all(
    Array.from({ length: count }, async () => {
      const response = await fetch(url);
      return { status: response.status, body: await response.json(), after: response.headers.get('retry-after') };
    }),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { body, after } of refused) expect([body, after]).toMatchObject([{ code: 'RATE_LIMITED' }, '1']);
});

describe('an attacker who can write to the store', () => {
  const edit = (sql: string, ...values: string[]) =>
    expect(inStoreFile(service.dataDir, 'log.db', (file) => file.prepare(sql).run(...values)).changes).toBe(1);

  test('cannot move a link to another collection, extend it or make one', async () => {
    const { token, id } = await create({ expiresAt: new Date(Date.now() + HOUR_MS).toISOString() });
    const { body } = await api<{ collection: { id: string } }>('POST', '/collections', {
      name: `${name}-2`,
      dimensions: 2,
    });
    edit('UPDATE audit_links SET expiresAt = NULL WHERE id = ?', id);
    expect(await show(token)).toEqual(GONE);
    expect(await list()).toEqual([]);
    expect(service.logged).toContain(`audit link ${id}`);
    const moved = await create();
    edit('UPDATE audit_links SET collectionId = ? WHERE id = ?', body.collection.id, moved.id);
    expect(await show(moved.token)).toEqual(GONE);
    expect(await api('GET', `/collections/${name}-2/audit-links`)).toMatchObject({ body: { links: [] } });
    expect(await api('DELETE', `/collections/${name}-2/audit-links/${moved.id}`)).toMatchObject({ status: 200 });
  });
});

test('the audit trail has who made and revoked a link, and neither it nor the log nor the store has the token', async () => {
  const { token, id } = await create({ label: 'trail' });
  await show(token);
  await show(UNKNOWN);
  await api('DELETE', `/collections/${name}/audit-links/${id}`);
  const trail = await everyEntry();
  const made = trail.filter(({ target }) => target === name);
  expect(made).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ action: 'auditLink.create', asked: { label: 'trail', expiresAt: null } }),
      expect.objectContaining({ action: 'auditLink.revoke', asked: { id } }),
    ]),
  );
  expect(trail).toContainEqual(expect.objectContaining({ outcome: 'done', after: { linkId: id } }));
  expect(JSON.stringify(trail)).not.toContain('pv_audit');
  expect(service.logged).toContain('/api/v1/audit-links/{token}');
  expect(service.logged).not.toMatch(/pv_audit_[\w-]{10}/);
  const stored = inStoreFile(service.dataDir, 'log.db', (file) => file.prepare('SELECT * FROM audit_links').all());
  expect(JSON.stringify(stored)).not.toContain('pv_audit');
});

test('links survive a restart', async () => {
  const { token } = await create();
  await write();
  await service.restart();
  expect(await show(token)).toMatchObject({ status: 200, body: { vectorCount: 1 } });
});

async function everyEntry(): Promise<Record<string, unknown>[]> {
  const entries: Record<string, unknown>[] = [];
  for (let cursor = '0'; ; ) {
    const { body } = await api<{ entries: Record<string, unknown>[]; nextCursor?: string }>(
      'GET',
      `/audit?cursor=${cursor}`,
    );
    entries.push(...body.entries);
    if (body.nextCursor === undefined) return entries;
    cursor = body.nextCursor;
  }
}
