/** From a key to a record that someone changed on disk, as the console leads there. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { debianSample } from '../../examples/debian-sample.ts';
import { foldWriteAheadLogs, overwriteBytes } from '../../examples/tampering.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const VICTIM = 'redis-server';
const BATCH = 500;

let browser: TestBrowser;
let service: ServiceProcess;

beforeAll(async () => {
  const [port] = await freePorts(1);
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_PORT: `${port}` })]);
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
});

/** Changes one digit of the victim's size in the store, as an attacker with the disk does. */
function tamper(size: number): void {
  const folder = join(service.dataDir);
  foldWriteAheadLogs(folder);
  const text = `"size":${size}`;
  const other = `${text.slice(0, -1)}${(Number(text.at(-1)) + 1) % 10}`;
  expect(overwriteBytes(folder, Buffer.from(text), Buffer.from(other))).toBeGreaterThan(0);
}

test('key, create, records, query, recall, tampering, verify, the record, its proof, revoked key', async () => {
  const visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  const records = debianSample();
  await visitor.signIn(TEST_KEY);
  await visitor.press('New collection');
  await visitor.page.getByLabel('Name').fill('debian');
  await visitor.page.getByLabel('Dimensions').fill('384');
  await visitor.press('Create');
  await visitor.sees('No records yet');
  for (let at = 0; at < records.length; at += BATCH)
    await service.api('POST', '/collections/debian/upsert', { records: records.slice(at, at + BATCH) });

  await visitor.go('#/collections');
  await visitor.page.getByRole('link', { name: 'debian' }).click();
  await visitor.page.getByLabel('Id', { exact: true }).fill(VICTIM);
  await visitor.page.getByLabel('Filter').fill('{"section": "database"}');
  await visitor.sees(/records match\./);
  await visitor.press('Run the query');
  await visitor.sees('10 of 10');
  await visitor.page.getByRole('link', { name: VICTIM }).click();
  await visitor.press('Prove it here');
  await visitor.sees('Proven: this record is in the collection');

  await service.kill('SIGTERM');
  const victim = records.find(({ id }) => id === VICTIM)!;
  tamper(victim.metadata.size as number);
  await service.restart();

  await visitor.page.getByRole('link', { name: 'Trust', exact: true }).click();
  await visitor.press('Verify now');
  await visitor.sees('This is not what was written');
  await visitor.sees('1 record differs');
  await visitor.expectSound('a mismatch');
  await visitor.picture('mismatch', { width: 1160, height: 680 });
  await visitor.page.getByRole('link', { name: VICTIM }).click();
  await visitor.sees('"size"');
  await visitor.press('Prove it here');
  await visitor.sees('Not proven.');
  await visitor.expectSound('a record that is not proven');

  const made = await service.api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'other' });
  await visitor.press('Sign out');
  await visitor.enter(made.body.key.secret);
  await visitor.sees('"size"');
  await service.api('DELETE', `/keys/${made.body.key.id}`);
  await visitor.press('Prove it here');
  await visitor.sees('Your key is no longer accepted.');
  expect(visitor.faults).toEqual([]);
  await visitor.close();
});
