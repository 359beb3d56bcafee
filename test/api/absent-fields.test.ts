/**
 * Absent fields are only reported to callers that ask for them: earlier gateways would pass them on
 * to clients.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { clientCall } from '../support/client-call.ts';
import { startService, type TestService } from '../support/service.ts';

const filter = { yaer: { $ne: 2026 } };
const REQUESTS = [
  ['collections.query', { vector: [1], filter }],
  ['collections.queries', { queries: [{ vector: [1], filter }] }],
  ['collections.count', { filter }],
  ['collections.facets', { field: 'yaer' }],
  ['collections.listRecords', { filter }],
  ['collections.updateRecords', { filter, setMetadata: { read: true }, dryRun: true }],
  ['collections.updateRecords', { filter, setMetadata: { read: true } }],
  ['collections.delete', { filter, dryRun: true }],
  ['collections.delete', { filter }],
] as const;

let service: TestService;
let accountId: string;
beforeAll(async () => {
  service = await startService();
  accountId = (await service.provec.store.catalog.listAccounts())[0]!.id;
  await service.api('POST', '/collections', { name: 'docs', dimensions: 1 });
});
afterAll(() => service?.stop());

const results = (action: (typeof REQUESTS)[number][0], body: object): Promise<unknown> =>
  clientCall(service.provec.broker, action, { accountId, name: 'docs', ...body });

test.each(REQUESTS)('%s reports absent fields only to callers that ask for them', async (action, body) => {
  const records = [{ id: 'a', values: [1], metadata: { year: 2025 } }];
  for (const wantsAbsentFields of [undefined, false, true]) {
    await service.api('POST', '/collections/docs/upsert', { records });
    const text = JSON.stringify(await results(action, { ...body, wantsAbsentFields }));
    expect([wantsAbsentFields, text.includes('absentFields')]).toEqual([wantsAbsentFields, wantsAbsentFields === true]);
  }
});
