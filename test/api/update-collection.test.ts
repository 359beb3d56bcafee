import { beforeAll, expect, test } from '@jest/globals';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService('anchored');
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2, deletionProtection: true });
});

test('once deletion protection is off, the collection can be deleted', async () => {
  const before = await service.api<{ collection: object }>('GET', '/collections/kept');
  const changed = await service.api('PATCH', '/collections/kept', { deletionProtection: false });
  expect(changed).toMatchObject({
    status: 200,
    body: { collection: { ...before.body.collection, deletionProtection: false } },
  });
  expect((await service.api('GET', '/collections/kept')).body).toEqual(changed.body);
  expect(await service.api('PATCH', '/collections/kept', { deletionProtection: true })).toMatchObject({ status: 200 });
  expect(await service.api('DELETE', '/collections/kept')).toEqual(refusal(403, 'FORBIDDEN'));
  expect(await service.api('PATCH', '/collections/kept', { deletionProtection: false })).toMatchObject({ status: 200 });
  expect(await service.api('DELETE', '/collections/kept')).toMatchObject({ status: 200 });
  expect(await service.api('PATCH', '/collections/kept', { deletionProtection: true })).toEqual(
    refusal(404, 'COLLECTION_NOT_FOUND'),
  );
});

test.each([
  ['a missing value', {}],
  ['text', { deletionProtection: 'no' }],
  ['what cannot be changed', { dimensions: 3 }],
])('%s gets 400', async (_, body) => {
  await service.api('POST', '/collections', { name: 'other', dimensions: 2 });
  expect(await service.api('PATCH', '/collections/other', body)).toMatchObject({
    status: 400,
    body: { code: 'INVALID_ARGUMENT' },
  });
});
