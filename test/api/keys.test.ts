import { beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyView } from '../../contracts/actions/keys.ts';
import { apiClient } from '../support/api-client.ts';
import { refusal, refusalOf } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
});

type Issued = KeyView & { secret: string };
const create = async (request: object) => (await service.api<{ key: Issued }>('POST', '/keys', request)).body.key;
const list = async () => (await service.api<{ keys: KeyView[] }>('GET', '/keys')).body.keys;
/** Keys without their last use, which keeps changing. */
const listed = async () => (await list()).map(({ last_used_at: _, ...key }) => key);
const withKey = (secret: string) => apiClient(service.url, secret);
const unauthenticated = refusal(401, 'UNAUTHENTICATED');

describe('creation', () => {
  test('returns the secret once', async () => {
    const { status, body } = await service.api<{ key: Issued }>('POST', '/keys', { name: 'deploy' });
    expect({ status, body }).toEqual({
      status: 201,
      body: {
        key: {
          id: expect.stringMatching(UUID),
          name: 'deploy',
          key_prefix: body.key.secret.slice(0, 12),
          scopes: ['read', 'write', 'manage'],
          created_at: expect.stringMatching(TIME),
          expires_at: null,
          last_used_at: null,
          revoked: false,
          secret: expect.stringMatching(/^pv_live_[A-Za-z0-9_-]{43}$/),
        },
      },
    });
    const { secret, ...shown } = body.key;
    expect(await list()).toContainEqual(shown);
    expect(JSON.stringify(await list())).not.toContain(secret.slice(12));
  });

  test('every key has its own secret, and works at once', async () => {
    const keys = await Promise.all(Array.from({ length: 8 }, () => create({ name: 'same name' })));
    expect(new Set(keys.map(({ secret }) => secret)).size).toBe(8);
    for (const { secret } of keys) expect(await withKey(secret)('GET', '/collections')).toMatchObject({ status: 200 });
  });

  test.each<[string, object, object]>([
    ['one scope', { scopes: ['read'] }, { scopes: ['read'] }],
    ['scopes in any order', { scopes: ['manage', 'read'] }, { scopes: ['manage', 'read'] }],
    ['a time in UTC', { expires_at: '2030-01-31T00:00:00Z' }, { expires_at: '2030-01-31T00:00:00.000Z' }],
    ['a time with an offset', { expires_at: '2030-01-31T02:00:00+02:00' }, { expires_at: '2030-01-31T00:00:00.000Z' }],
    ['a time in small letters', { expires_at: '2030-01-31t00:00:00z' }, { expires_at: '2030-01-31T00:00:00.000Z' }],
    ['a leap second', { expires_at: '2030-06-30T23:59:60Z' }, { expires_at: '2030-07-01T00:00:00.000Z' }],
    ['a part of one', { expires_at: '2030-07-01T01:59:60.5+02:00' }, { expires_at: '2030-07-01T00:00:00.500Z' }],
    ['no expiry, said', { expires_at: null }, { expires_at: null }],
    ['any characters', { name: 'a\n\u001b[31m\u0000\u2028/' }, { name: 'a\n\u001b[31m\u0000\u2028/' }],
    ['64 characters', { name: '🧭'.repeat(64) }, { name: '🧭'.repeat(64) }],
  ])('accepts %s', async (_, request, shown) => {
    expect(await create({ name: 'fine', ...request })).toMatchObject(shown);
  });

  test.each<[string, object, ...string[]]>([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['65 characters', { name: 'x'.repeat(65) }, 'name'],
    ['a lone surrogate', { name: '\ud83e' }, 'name'],
    ['a number', { name: 1 }, 'name'],
    ['no scope', { name: 'x', scopes: [] }, 'scopes'],
    ['text for scopes', { name: 'x', scopes: 'read' }, 'scopes'],
    ['an unknown scope', { name: 'x', scopes: ['read', 'admin'] }, 'scopes[1]'],
    ['a scope twice', { name: 'x', scopes: ['read', 'read'] }, 'scopes[1]'],
    ['a time that is over', { name: 'x', expires_at: '2026-11-15T12:00:00.000Z' }, 'expires_at'],
    ['the 61st second', { name: 'x', expires_at: '2030-01-31T00:00:61Z' }, 'expires_at'],
    ['a date', { name: 'x', expires_at: '2030-01-31' }, 'expires_at'],
    ['the 30th of February', { name: 'x', expires_at: '2030-02-30T00:00:00Z' }, 'expires_at'],
    ['a number for a time', { name: 'x', expires_at: 1_900_000_000 }, 'expires_at'],
    ['several', { scopes: ['all'], expires_at: 'never' }, 'name', 'scopes[0]', 'expires_at'],
    ['a secret of one own', { name: 'x', secret: 'y' }, 'secret'],
  ])('refuses %s', async (_, request, ...paths) => {
    const before = await listed();
    expect(await service.api('POST', '/keys', request)).toEqual(refusalOf(...paths));
    expect(await listed()).toEqual(before);
  });

  test('names the valid scopes if the request has none', async () => {
    const { body } = await service.api('POST', '/keys', { name: 'x', scopes: [] });
    const expected = 'an array of at least one of read, write, manage, each at most once';
    expect(body).toMatchObject({ error: `scopes must be ${expected}, but is an empty array.` });
  });
});

describe('revocation', () => {
  test('takes effect at once, is final, and removes the key from the list', async () => {
    const { id, secret } = await create({ name: 'leaked' });
    const leaked = withKey(secret);
    expect(await leaked('GET', '/collections')).toMatchObject({ status: 200 });
    const { status, body } = await service.api('DELETE', `/keys/${id}`);
    expect({ status, body }).toEqual({ status: 200, body: { revoked: true } });
    expect(await leaked('GET', '/collections')).toEqual(unauthenticated);
    expect(await leaked('DELETE', `/keys/${id}`)).toEqual(unauthenticated);
    expect((await list()).map((key) => key.id)).not.toContain(id);
    expect(await service.api('DELETE', `/keys/${id}`)).toMatchObject({ status: 404, body: { code: 'KEY_NOT_FOUND' } });
  });

  test.each(['00000000-0000-4000-8000-000000000000', 'x', '..%2f', '%00', `${'a'.repeat(100)}`])(
    'returns 404 for an unknown key (%s)',
    async (id) => {
      expect(await service.api('DELETE', `/keys/${id}`)).toEqual(refusal(404, 'KEY_NOT_FOUND'));
    },
  );

  test("returns the same 404 for another account's key", async () => {
    const tenant = await createTenant(service, 'free');
    expect(await service.api('DELETE', `/keys/${tenant.key.id}`)).toEqual(refusal(404, 'KEY_NOT_FOUND'));
    expect(await tenant.api('GET', '/collections')).toMatchObject({ status: 200 });
    const keys = (await tenant.api<{ keys: KeyView[] }>('GET', '/keys')).body.keys;
    expect(keys.map(({ id }) => id)).toEqual([tenant.key.id]);
  });

  test('refuses the last key with manage (LAST_KEY), and revokes others', async () => {
    const tenant = await createTenant(service, 'enterprise');
    const reader = await tenant.api<{ key: Issued }>('POST', '/keys', { name: 'reader', scopes: ['read', 'write'] });
    expect(await tenant.api('DELETE', `/keys/${tenant.key.id}`)).toEqual(refusal(409, 'LAST_KEY'));
    expect(await tenant.api('DELETE', `/keys/${reader.body.key.id}`)).toMatchObject({ status: 200 });
    const { key } = (await tenant.api<{ key: Issued }>('POST', '/keys', { name: 'next', scopes: ['manage'] })).body;
    expect(await tenant.api('DELETE', `/keys/${tenant.key.id}`)).toMatchObject({ status: 200 });
    expect(await withKey(key.secret)('DELETE', `/keys/${key.id}`)).toEqual(refusal(409, 'LAST_KEY'));
  });
});
