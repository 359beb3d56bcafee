/**
 * A thief knows that a stolen key is about to be revoked, and starts requests early that end later:
 * the headers arrive while the key is valid, the bodies after its revocation. The service's clock
 * stands still until the test moves it.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyView } from '../../contracts/actions/keys.ts';
import { ManualClock } from '../support/accounts.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { startService, type TestService } from '../support/service.ts';

/** Time until a revocation applies to everything. */
const HOLDS_WITHIN_MS = 1_000;

const clock = new ManualClock();
let service: TestService;
beforeAll(async () => {
  service = await startService({ PROVEC_LEDGER: 'off' }, { clock });
  await service.api('POST', '/collections', { name: 'victim', dimensions: 2 });
  await upsert(['kept']);
});
afterAll(() => service.stop());

type Issued = KeyView & { secret: string };
const create = async (request: object) => (await service.api<{ key: Issued }>('POST', '/keys', request)).body.key;
const recordsOf = (ids: string[]) => ({ records: ids.map((id) => ({ id, values: [1, 2] })) });
const upsert = (ids: string[]) => service.api('POST', '/collections/victim/upsert', recordsOf(ids));

/**
 * Sends a request's headers, and waits until the service asks for the body: the key was accepted.
 */
async function begin(secret: string, path: string, body: string): Promise<RawConnection> {
  const raw = new RawConnection(Number(new URL(service.url).port));
  raw.write(
    [
      `POST /api/v1${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${secret}`,
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
      '\r\n',
    ].join('\r\n'),
  );
  await raw.until((received) => received.includes('100 Continue'));
  raw.received = '';
  return raw;
}
async function end(raw: RawConnection, body: string): Promise<string> {
  raw.write(body);
  return (await raw.end()).slice('HTTP/1.1 '.length).split(' ', 1)[0]!;
}

/** Everything that a thief could have changed. */
const state = async () => ({
  collections: (await service.api('GET', '/collections')).body,
  records: (await service.api('POST', '/collections/victim/fetch', { ids: ['kept', 'stolen'] })).body,
  keys: (await service.api<{ keys: KeyView[] }>('GET', '/keys')).body.keys.map(({ id }) => id),
});

describe.each<[string, string, object]>([
  ['an upsert', '/collections/victim/upsert', recordsOf(['stolen'])],
  ['a delete', '/collections/victim/delete', { ids: ['kept'] }],
  ['a query', '/collections/victim/query', { vector: [1, 2] }],
  ['a new collection', '/collections', { name: 'stolen', dimensions: 2 }],
  ['a new key', '/keys', { name: 'stolen' }],
])('the headers of %s are sent', (_, path, request) => {
  const body = JSON.stringify(request);

  test('the key is revoked and the body arrives 30 s later: 401, and nothing is done', async () => {
    const { id, secret } = await create({ name: 'stolen' });
    const raw = await begin(secret, path, body);
    expect(await service.api('DELETE', `/keys/${id}`)).toMatchObject({ status: 200 });
    const before = await state();
    clock.advance(30_000);
    expect(await end(raw, body)).toBe('401');
    expect(await state()).toEqual(before);
  });

  test('the same a second later', async () => {
    const { id, secret } = await create({ name: 'stolen' });
    const raw = await begin(secret, path, body);
    await service.api('DELETE', `/keys/${id}`);
    const before = await state();
    clock.advance(HOLDS_WITHIN_MS);
    expect(await end(raw, body)).toBe('401');
    expect(await state()).toEqual(before);
  });

  test('the key expires before the body arrives: the same', async () => {
    const expires_at = new Date(clock.wallMs() + HOLDS_WITHIN_MS).toISOString();
    const { secret } = await create({ name: 'short-lived', expires_at });
    const before = await state();
    const raw = await begin(secret, path, body);
    clock.advance(HOLDS_WITHIN_MS);
    expect(await end(raw, body)).toBe('401');
    expect(await state()).toEqual(before);
  });
});

test('a slow sender with a valid key is served', async () => {
  const { secret } = await create({ name: 'slow' });
  const body = JSON.stringify(recordsOf(['slow']));
  const raw = await begin(secret, '/collections/victim/upsert', body);
  clock.advance(30_000);
  expect(await end(raw, body)).toBe('200');
});
