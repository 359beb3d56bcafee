import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { VerifyResult } from '../../contracts/actions/verification.ts';
import { newKey } from '../contract/store-rows.ts';
import { apiClient } from '../support/api-client.ts';
import { openStoreAsForger } from '../support/forger.ts';
import { invariant } from '../support/invariant.ts';
import { reseal, storeBytes } from '../support/reseal-run.ts';
import { startService, type TestService } from '../support/service.ts';

const secret = (number: number): string => `the-secret-that-this-installation-has-${number}`;
const under = (...numbers: number[]) => ({ PROVEC_SECRET: numbers.map(secret).join(' ') });

const records = Array.from({ length: 60 }, (_, at) => ({ id: `r${at}`, values: [1, at, -at], metadata: { at } }));

let service: TestService;
let second: string;
const environment = (...numbers: number[]) => ({ ...under(...numbers), PROVEC_DATA_DIR: service.dataDir });

async function expectServed(): Promise<void> {
  const ids = records.map(({ id }) => id);
  const { body } = await service.api<{ vectors: Record<string, object> }>('POST', '/collections/kept/fetch', { ids });
  await invariant('what was acknowledged is served', () =>
    expect(Object.keys(body.vectors).sort()).toEqual(ids.sort()),
  );
  expect((await service.api<VerifyResult>('GET', '/collections/kept/verify')).body).toMatchObject({ state: 'match' });
  expect((await apiClient(service.url, second)('GET', '/collections')).status).toBe(200);
  expect(service.logged).not.toMatch(/not written by this service/);
}

beforeAll(async () => {
  service = await startService({ ...under(1), PROVEC_LOG_LEVEL: 'error' });
  await service.api('POST', '/collections', { name: 'kept', dimensions: 3, shards: 4 });
  const key = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'another', scopes: ['read'] });
  second = key.body.key.secret;
  await service.api('POST', '/collections/kept/upsert', { records: records.slice(0, 40) });
  await service.restart(under(2, 1));
  await service.api('POST', '/collections/kept/upsert', { records: records.slice(40) });
});
afterAll(() => service.stop());

test('is refused while the service runs', async () => {
  const run = await reseal(environment(2, 1), '--apply');
  expect(run).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/is in use by process \d+/) });
  await expectServed();
  await service.provec.stop();
});

test('a new key for an unknown account names the accounts that there are', async () => {
  const { code, stdout, stderr } = await reseal(environment(2, 1), '--new-key', 'mine');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/There is no account mine\. The accounts are [0-9a-f-]{36} \(default\)\./);
});

test('a dry run reports what there is to do, and changes no byte of the store', async () => {
  const before = await storeBytes(service.dataDir);
  const run = await reseal(environment(2, 1));
  expect(run).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringMatching(/API keys: 0 under .*, 2 to be sealed/),
  });
  expect(run.stdout).toMatch(/Nothing was written/);
  expect(await storeBytes(service.dataDir)).toEqual(before);
});

test('--help prints the usage', async () => {
  const run = await reseal(environment(2, 1), '--help');
  expect(run).toEqual(
    expect.objectContaining({ code: 0, stderr: '', stdout: expect.stringMatching(/^Usage: npm run reseal/) }),
  );
});

test("refuses a secret that is not the store's", async () => {
  const run = await reseal(environment(3), '--apply');
  expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/made under another secret/) });
});

/** Tampers like an attacker who can write to the store. */
function change(sql: string, ...values: string[]): void {
  const file = new DatabaseSync(join(service.dataDir, 'log.db'));
  try {
    expect(file.prepare(sql).run(...values).changes).toBe(1);
  } finally {
    file.close();
  }
}

test('while rows are refused no earlier secret can be dropped: a repaired row still needs it', async () => {
  const forger = await openStoreAsForger(service.dataDir);
  await forger.keys.create(newKey({ name: 'forged' }), null);
  await forger.close();
  change('UPDATE keys SET name = ? WHERE name = ?', 'renamed', 'another');
  const run = await reseal(environment(2, 1), '--apply');
  expect(run).toMatchObject({ code: 2, stderr: '', stdout: expect.stringMatching(/refused: API key .* name forged/) });
  expect(run.stdout).toMatch(/refused: API key .* name renamed/);
  expect(run.stdout).toMatch(/^2 refused: keep earlier secrets until /m);
  expect(run.stdout).not.toMatch(/can be dropped/);
});

test('once they are repaired, the earlier secret can be dropped, and all is valid under the current one', async () => {
  change('UPDATE keys SET name = ? WHERE name = ?', 'another', 'renamed');
  change('DELETE FROM keys WHERE name = ?', 'forged');
  const run = await reseal(environment(2, 1), '--apply');
  expect(run).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/earlier secrets can be dropped/) });
  await service.restart(under(2));
  await service.api('POST', '/collections/kept/upsert', { records: records.slice(0, 1) });
  await expectServed();
  await service.provec.stop();
});

test('a forged key stays refused, and opens nothing', async () => {
  const forger = await openStoreAsForger(service.dataDir);
  await forger.keys.create(newKey({ name: 'forged' }), null);
  await forger.close();
  expect(await reseal(environment(2), '--apply')).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/refused: API key .* name forged/),
  });
  await service.restart(under(2));
  await expectServed();
  await service.provec.stop();
});
