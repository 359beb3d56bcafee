/**
 * Seen in earlier systems: fetch responds with 200 and no records. `api/restart.test.ts` tests this
 * after a restart.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { type SharedService, shareService } from '../support/shared-service.ts';

const record = (at: number) => ({ id: `r${at}`, values: [at, 1, at / 2], metadata: { at, list: [at, null, 'x'] } });
const RECORDS = Array.from({ length: 200 }, (_, at) => record(at));

describe.each([1, 8])('over %i shards', (shards) => {
  let service: SharedService;
  const fetched = async (ids: string[]) => (await service.api('POST', '/collections/demo/fetch', { ids })).body;
  const all = Object.fromEntries(RECORDS.map((each) => [each.id, each]));
  const everyId = RECORDS.map(({ id }) => id);

  beforeAll(async () => {
    service = await shareService();
    await service.api('POST', '/collections', { name: 'demo', dimensions: 3, shards });
    await service.api('POST', '/collections/demo/upsert', { records: RECORDS });
  });

  test('every record is returned completely, and absent ones are left out', async () => {
    expect(await fetched(everyId)).toEqual({ vectors: all });
    expect(await fetched(['absent', 'r7', 'r7', 'R8'])).toEqual({ vectors: { r7: record(7) } });
    expect(await fetched(['absent'])).toEqual({ vectors: {} });
  });

  test('a replaced record is returned in its new form, and a deleted one not at all', async () => {
    const replaced = { id: 'r1', values: [9, 9, 9], metadata: {} };
    await service.api('POST', '/collections/demo/upsert', { records: [replaced] });
    await service.api('POST', '/collections/demo/delete', { ids: ['r2'] });
    const { r2: _, ...rest } = all;
    const expected = { vectors: { ...rest, r1: replaced } };
    expect(await fetched(everyId)).toEqual(expected);
  });
});
