import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Verification, VerifyResult } from '../../contracts/actions/verification.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import type { Api } from '../support/api-client.ts';
import { rawRequest } from '../support/raw-request.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { createTenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
});

const begin = (path: string, api: Api = service.api) => api<Verification>('POST', `${path}/verifications`);

/** Resolves with the verification once it has ended. */
async function ended(path: string, id: string): Promise<Verification> {
  return until('it has ended', async () => {
    const { body } = await service.api<Verification>('GET', `${path}/verifications/${id}`);
    return body.state !== 'running' && body;
  });
}

async function fill(path: string, count: number): Promise<void> {
  const records = Array.from({ length: count }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
  expect(await service.api('POST', `${path}/upsert`, { records })).toMatchObject({ status: 200 });
}

describe.each([1, 4])('over %i shards', (shards) => {
  const path = `/collections/verified.${shards}`;
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: `verified.${shards}`, dimensions: 2, shards });
  });

  test('ends on an empty collection too', async () => {
    const { body } = await begin(path);
    expect(body.progress).toEqual({ scanned: 0, total: 0 });
    const end = await ended(path, body.id);
    expect(end).toMatchObject({ state: 'done', progress: { scanned: 0, total: 0 }, result: { state: 'none' } });
  });

  test('its answer has the location, which later has the verdict of a verify', async () => {
    await fill(path, 200);
    const url = `/api/v1${path}/verifications`;
    const { status, headers, text } = await rawRequest(service.url, 'POST', url, {
      authorization: `Bearer ${service.key}`,
    });
    const begun = JSON.parse(text) as Verification;
    expect([status, headers.location]).toEqual([202, `${url}/${begun.id}`]);
    expect(begun).toEqual({ id: begun.id, state: 'running', progress: { scanned: expect.any(Number), total: 200 } });
    const { result, ...end } = await ended(path, begun.id);
    expect(end).toEqual({ id: begun.id, state: 'done', progress: { scanned: 200, total: 200 } });
    const { body: verdict } = await service.api<VerifyResult>('GET', `${path}/verify`);
    expect(result).toEqual({ ...verdict, checkedAt: result!.checkedAt });
    expect(result).toMatchObject({ state: 'match', vectorCount: 200 });
  });
});

test('keeps the last ten of a collection', async () => {
  await service.api('POST', '/collections', { name: 'often', dimensions: 2 });
  const ids: string[] = [];
  for (let count = 0; count <= INTERNAL_LIMITS.verificationsKeptPerCollectionMax; count++) {
    const { id } = (await begin('/collections/often')).body;
    ids.push((await ended('/collections/often', id)).id);
  }
  expect(new Set(ids).size).toBe(ids.length);
  const [first, ...others] = ids.map((id) => service.api('GET', `/collections/often/verifications/${id}`));
  expect(await first).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
  for (const other of others) expect(await other).toMatchObject({ status: 200, body: { state: 'done' } });
});

describe('not found', () => {
  const path = '/collections/absent';
  let id: string;
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'absent', dimensions: 2 });
    id = (await ended(path, (await begin(path)).body.id)).id;
  });

  test.each([
    '0',
    '00000000-0000-4000-8000-000000000000',
    '__proto__',
    '%00',
    '%F0%9F%A7%AD',
    '..%2F..',
    'x'.repeat(9_000),
  ])('an unknown id: %s', async (never) => {
    const answer = await service.api('GET', `${path}/verifications/${never}`);
    expect(answer).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
  });

  test('an id with a suffix, or of another collection', async () => {
    await service.api('POST', '/collections', { name: 'other', dimensions: 2 });
    for (const other of [`${path}/verifications/${id}x`, `/collections/other/verifications/${id}`])
      expect(await service.api('GET', other)).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
  });

  test('for another tenant, whether or not it has a collection with that name', async () => {
    const { api } = await createTenant(service, 'enterprise');
    const other = () => api('GET', `${path}/verifications/${id}`);
    expect(await other()).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    expect(await begin(path, api)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    await api('POST', '/collections', { name: 'absent', dimensions: 2 });
    expect(await other()).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
    expect(await service.api('GET', `${path}/verifications/${id}`)).toMatchObject({ status: 200 });
  });

  test('for a deleted collection, and for the next one with its name', async () => {
    await service.api('POST', '/collections', { name: 'short-lived', dimensions: 2 });
    const short = '/collections/short-lived';
    const { body } = await begin(short);
    await ended(short, body.id);
    const look = () => service.api('GET', `${short}/verifications/${body.id}`);
    await service.api('DELETE', short);
    expect(await look()).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    expect(await begin(short)).toEqual(refusal(404, 'COLLECTION_NOT_FOUND'));
    await service.api('POST', '/collections', { name: 'short-lived', dimensions: 2 });
    expect(await look()).toEqual(refusal(404, 'VERIFICATION_NOT_FOUND'));
  });
});

test('refuses fields and parameters', async () => {
  await service.api('POST', '/collections', { name: 'plain', dimensions: 2 });
  const path = '/collections/plain/verifications';
  expect(await service.api('POST', path, { ids: ['a'] })).toMatchObject({
    status: 400,
    body: { code: 'INVALID_ARGUMENT', details: [{ path: 'ids' }] },
  });
  expect(await service.api('POST', `${path}?id=a`)).toMatchObject({
    status: 400,
    body: { code: 'INVALID_ARGUMENT', details: [{ path: 'id' }] },
  });
});
