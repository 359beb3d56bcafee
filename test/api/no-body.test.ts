/** Operations without a body refuse one instead of ignoring it. */
import { beforeAll, expect, test } from '@jest/globals';
import { rawRequest } from '../support/raw-request.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'docs', dimensions: 3 });
});

const send = async (method: string, path: string, body?: string, headers: Record<string, string> = {}) => {
  const length: Record<string, string> = headers['transfer-encoding']
    ? {}
    : { 'content-length': String(Buffer.byteLength(body ?? '')) };
  const authorization = `Bearer ${service.key}`;
  const { status, text } = await rawRequest(
    service.url,
    method,
    `/api/v1${path}`,
    { authorization, ...length, ...headers },
    body,
  );
  return { status, ...(JSON.parse(text) as { code?: string; details?: unknown[]; error?: string }) };
};

test('ids in a body do not cause the whole collection to be deleted', async () => {
  expect(await send('DELETE', '/collections/docs', '{"ids":["a"]}')).toMatchObject({
    status: 400,
    code: 'INVALID_ARGUMENT',
    error: 'ids is not a field of this operation; this operation takes no fields.',
    details: [{ path: 'ids', expected: 'absent' }],
  });
  expect((await send('GET', '/collections/docs')).status).toBe(200);
});

test.each(['/collections', '/collections/docs', '/collections/docs/verify', '/usage', '/keys'])(
  'refuses fields in a GET of %s',
  async (path) => {
    expect(await send('GET', path, '{"filter":{}}')).toMatchObject({ status: 400, details: [{ path: 'filter' }] });
    expect(await send('GET', path, '{')).toMatchObject({ status: 400, code: 'INVALID_JSON' });
    expect(await send('GET', path, 'a=b', { 'content-type': 'text/plain' })).toMatchObject({ status: 415 });
  },
);

test('accepts an empty body, or an object without fields, as no body', async () => {
  expect((await send('GET', '/usage', '')).status).toBe(200);
  expect((await send('GET', '/usage', '{}')).status).toBe(200);
  expect((await send('GET', '/usage', '', { 'transfer-encoding': 'chunked' })).status).toBe(200);
  expect((await send('DELETE', '/collections/docs', ' {} ')).status).toBe(200);
});
