import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AuditEntriesPage, AuditEntryView } from '../../contracts/actions/audit.ts';
import type { Api } from '../support/api-client.ts';
import { apiClient } from '../support/api-client.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant, operatorApi, type Tenant } from '../support/tenant.ts';

let service: SharedService;
let tenant: Tenant;
let operator: Api;
beforeAll(async () => {
  service = await shareService();
  operator = operatorApi(service);
  tenant = await createTenant(service, 'enterprise', 'audited');
});

async function read(api: Api, path: string, limit?: number): Promise<AuditEntryView[]> {
  const entries: AuditEntryView[] = [];
  for (let cursor: string | undefined; ; ) {
    const query = [...(limit ? [`limit=${limit}`] : []), ...(cursor ? [`cursor=${cursor}`] : [])].join('&');
    const { status, body } = await api<AuditEntriesPage>('GET', `${path}${path.includes('?') ? '&' : '?'}${query}`);
    expect(status).toBe(200);
    entries.push(...body.entries);
    if (body.nextCursor === undefined) return entries;
    cursor = body.nextCursor;
  }
}

/** The fields of both entries of each change, in the order of the changes. */
async function changes(api: Api, path = '/audit'): Promise<object[]> {
  const byId = Map.groupBy(await read(api, path), ({ id }) => id);
  return [...byId.values()].map((both) => {
    expect(both.map(({ phase }) => phase)).toEqual(['begin', 'end']);
    return Object.assign({}, ...both) as object;
  });
}

const created = async (path: string, body: object): Promise<Record<string, { id: string; secret: string }>> => {
  const answer = await tenant.api<Record<string, { id: string; secret: string }>>('POST', path, body);
  expect(answer.status).toBe(201);
  return answer.body;
};

test('each change of keys, collections and aliases is written, with the values before and after', async () => {
  const { key } = await created('/keys', { name: 'reader', scopes: ['read'], expires_at: '2099-01-01T00:00:00Z' });
  await tenant.api('DELETE', `/keys/${key!.id}`);
  const { collection } = await created('/collections', { name: 'docs', dimensions: 2, tags: { team: 'red' } });
  await created('/collections', { name: 'other', dimensions: 2 });
  await tenant.api('PATCH', '/collections/docs', { deletionProtection: true, tags: { team: 'blue' } });
  await tenant.api('PATCH', '/collections/docs', { deletionProtection: false });
  await tenant.api('PUT', '/aliases/live', { collection: 'docs' });
  await tenant.api('PATCH', '/collections/live', { tags: { by: 'alias' } });
  await tenant.api('PUT', '/aliases/live', { collection: 'other' });
  await tenant.api('DELETE', '/aliases/live');
  await tenant.api('POST', '/collections/docs/upsert', {
    records: [{ id: 'secret-id', values: [0.123, 0.456], metadata: { name: 'secret-metadata' } }],
  });
  await tenant.api('DELETE', '/collections/docs');

  const reader = { name: 'reader', scopes: ['read'], expiresAt: '2099-01-01T00:00:00.000Z' };
  const blue = { collectionId: collection!.id, replicas: 0, tags: { team: 'blue' } };
  const done = { outcome: 'done', code: null };
  expect(await changes(tenant.api)).toMatchObject([
    { action: 'key.create', target: null, before: null, after: { keyId: key!.id, ...reader }, ...done },
    { action: 'key.revoke', target: key!.id, before: reader, after: null, ...done },
    { action: 'collection.create', target: 'docs', after: { collectionId: collection!.id, dimensions: 2 }, ...done },
    { action: 'collection.create', target: 'other', ...done },
    {
      action: 'collection.update',
      target: 'docs',
      asked: { deletionProtection: true, tags: { team: 'blue' } },
      before: { collectionId: collection!.id, deletionProtection: false, tags: { team: 'red' } },
      after: { deletionProtection: true, ...blue },
    },
    {
      action: 'collection.update',
      before: { deletionProtection: true, ...blue },
      after: { deletionProtection: false },
    },
    { action: 'alias.set', target: 'live', before: null, after: { collection: 'docs' }, ...done },
    {
      action: 'collection.update',
      target: 'live',
      before: { collectionId: collection!.id, tags: { team: 'blue' } },
      after: { collectionId: collection!.id, tags: { team: 'blue', by: 'alias' } },
    },
    { action: 'alias.set', before: { collectionId: collection!.id }, after: { collection: 'other' }, ...done },
    { action: 'alias.delete', target: 'live', ...done },
    { action: 'collection.delete', target: 'docs', before: { collectionId: collection!.id }, ...done },
  ]);
  const text = JSON.stringify(await read(tenant.api, '/audit'));
  for (const secret of [key!.secret, tenant.key.secret, 'secret-id', 'secret-metadata', '0.123'])
    expect(text).not.toContain(secret);
});

test('an entry says who asked for it, from where, in which request, and when', async () => {
  const { body } = await tenant.api<AuditEntriesPage>('GET', '/audit?limit=1');
  const beganMs = Date.parse(tenant.account.created_at);
  expect(body.entries[0]).toMatchObject({
    seq: 1,
    actor: { type: 'key', accountId: tenant.account.id, keyId: tenant.key.id },
    accountId: tenant.account.id,
    address: expect.stringMatching(/^(::ffff:)?127\.0\.0\.1$|^::1$/),
    requestId: expect.stringMatching(/./),
    node: expect.stringMatching(/./),
  });
  expect(Date.parse(body.entries[0]!.at!)).toBeGreaterThanOrEqual(beganMs);
});

test('a refused change is written as well, unless its request was malformed', async () => {
  const { api } = await createTenant(service, 'enterprise', 'refused');
  for (const [method, path, body, code] of [
    ['POST', '/keys', { name: '' }, 'INVALID_ARGUMENT'],
    ['DELETE', '/collections/absent', undefined, 'COLLECTION_NOT_FOUND'],
    ['PUT', '/aliases/live', { collection: 'absent' }, 'COLLECTION_NOT_FOUND'],
  ] as const)
    expect(await api(method, path, body)).toMatchObject({ body: { code } });
  expect(await changes(api)).toMatchObject([
    { action: 'collection.delete', target: 'absent', outcome: 'refused', code: 'COLLECTION_NOT_FOUND', after: null },
    { action: 'alias.set', target: 'live', outcome: 'refused', code: 'COLLECTION_NOT_FOUND', after: null },
  ]);
});

test('the operator’s changes have a trail of their own', async () => {
  const { account, api } = await createTenant(service, 'free', 'changed');
  await operator('PATCH', `/admin/accounts/${account.id}`, { plan: 'pro' });
  const key = await operator<{ key: { id: string } }>('POST', `/admin/accounts/${account.id}/keys`, { name: 'second' });
  await operator('DELETE', `/admin/accounts/${account.id}/keys/${key.body.key.id}`);
  expect(await read(api, '/audit')).toEqual([]);
  await api('POST', '/collections', { name: 'docs', dimensions: 2 });
  await operator('DELETE', `/admin/accounts/${account.id}`);

  const all = (await changes(operator, '/admin/audit')) as {
    accountId: string;
    after: { accountId?: string } | null;
  }[];
  const own = all.filter(({ accountId, after }) => accountId === account.id || after?.accountId === account.id);
  expect(own).toMatchObject([
    { action: 'account.create', actor: { type: 'operator' }, after: { name: 'changed', plan: 'free' } },
    { action: 'account.setPlan', before: { name: 'changed', plan: 'free' }, after: { plan: 'pro' } },
    { action: 'key.create', accountId: account.id, after: { name: 'second' } },
    { action: 'key.revoke', target: key.body.key.id, before: { name: 'second' } },
    { action: 'account.delete', target: account.id, before: { name: 'changed', plan: 'pro' } },
  ]);
  // The trail outlives the account.
  expect(await changes(operator, `/admin/audit?account=${account.id}`)).toMatchObject([
    { action: 'collection.create', target: 'docs' },
  ]);
});

describe('a trail', () => {
  test('is read in pages, which continue each other', async () => {
    const whole = await read(tenant.api, '/audit');
    expect(await read(tenant.api, '/audit', 3)).toEqual(whole);
    expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1));
    const { body } = await tenant.api<AuditEntriesPage>('GET', '/audit?limit=1');
    expect(body.head).toEqual({ seq: whole.length, hash: whole.at(-1)!.hash });
  });

  test('has hashes that anyone can recompute as docs/audit.md says', async () => {
    let previous = '0'.repeat(64);
    for (const { seq, previousHash, hash, ...entry } of await read(tenant.api, '/audit')) {
      const place = [tenant.account.id, seq, previousHash, sortedJson(entry)];
      expect(previousHash).toBe(previous);
      expect(createHash('sha256').update(JSON.stringify(place)).digest('hex')).toBe(hash);
      previous = hash;
    }
  });

  test('is for keys that manage the account, and for the operator', async () => {
    const { key } = await created('/keys', { name: 'writer', scopes: ['read', 'write'] });
    expect(await apiClient(service.url, key!.secret)('GET', '/audit')).toEqual(refusal(403, 'FORBIDDEN'));
    expect(await tenant.api('GET', '/admin/audit')).toEqual(refusal(401, 'UNAUTHENTICATED'));
    expect(await operator('GET', '/audit')).toEqual(refusal(401, 'UNAUTHENTICATED'));
    expect(await read(operator, `/admin/audit?account=${tenant.account.id}`)).toEqual(await read(tenant.api, '/audit'));
  });

  test.each(['limit=0', 'limit=101', 'cursor=-1', 'cursor=x', 'cursor=9999999999999999', 'account=..'])(
    'refuses %s',
    async (query) => {
      const { status, body } = await operator('GET', `/admin/audit?${query}`);
      const [path] = query.split('=');
      expect({ status, body }).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT', details: [{ path }] } });
    },
  );
});

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_, child: unknown) =>
    typeof child === 'object' && child !== null && !Array.isArray(child)
      ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)))
      : child,
  );
