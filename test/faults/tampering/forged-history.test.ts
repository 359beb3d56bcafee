/** An attacker with write access to the store changes the history of a collection's anchors. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnchorsPage } from '../../../contracts/actions/collections.ts';
import { startCommandLine } from '../../support/command-line.ts';
import { startService, type TestService } from '../../support/service.ts';
import { inStoreFile } from '../../support/store-file.ts';
import { TEST_KEY } from '../../support/tenant.ts';

const FORGED = { position: 2, fault: 'The service did not write this entry, or wrote it under another keypair.' };

let service: TestService;
const upsert = (id: string) => service.api('POST', '/collections/notes/upsert', { records: [{ id, values: [1, 0] }] });
const history = (search = '') => service.api<AnchorsPage>('GET', `/collections/notes/anchors${search}`);

beforeAll(async () => {
  service = await startService({ PROVEC_LOG_LEVEL: 'error', PROVEC_ANCHOR_WAIT_MS: '10000' });
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
  for (const id of ['a', 'b', 'c'])
    expect(await upsert(id)).toMatchObject({ body: { anchor: { status: 'confirmed' } } });
  const sql = `UPDATE anchor_history SET item = replace(item, '"vectorCount":2', '"vectorCount":20') WHERE version = 2`;
  expect(inStoreFile(service.dataDir, 'log.db', (file) => file.prepare(sql).run()).changes).toBe(1);
});
afterAll(() => service.stop());

describe.each([
  ['while the service runs', async () => undefined],
  ['after a restart', () => service.restart()],
])('a forged entry, %s', (_, begin) => {
  beforeAll(begin);

  test('is named and not listed', async () => {
    const { status, body } = await history();
    expect(status).toBe(200);
    expect(body.anchors.map(({ vectorCount, sealed }) => [vectorCount, sealed])).toEqual([
      [3, true],
      [1, true],
    ]);
    expect(body.faults).toEqual([FORGED]);
    expect(await history('?limit=1')).toMatchObject({ body: { anchors: [{ position: 3 }] } });
  });

  test('makes provec history exit with 1', async () => {
    const environment = { PROVEC_URL: service.url, PROVEC_KEY: TEST_KEY };
    const { code, stdout, stderr } = await startCommandLine(['history', 'notes', '--json'], { environment }).ended;
    expect({ code, stderr }).toEqual({ code: 1, stderr: `provec: entry 2: ${FORGED.fault}\n` });
    expect(JSON.parse(stdout)).toMatchObject({ faults: [FORGED], dropped: 0, hasMore: false });
  });
});

test('the next root continues the history', async () => {
  expect(await upsert('d')).toMatchObject({ body: { anchor: { status: 'confirmed' } } });
  const { body } = await history();
  expect(body.anchors.map(({ position }) => position)).toEqual([4, 3, 1]);
  expect(body.faults).toEqual([FORGED]);
});
