/** Import and export of a collection in the console. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rootOfRecords } from '../../client/index.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const RECORDS = Array.from({ length: 500 }, (_, at) => ({ id: `r${at}`, values: [1, at], metadata: { at } }));

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-transfer-'));
  [browser, service] = await Promise.all([startBrowser(), startProcess()]);
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY);
});
afterAll(async () => {
  await visitor.close();
  await browser.dispose();
  await service.dispose();
  await rm(folder, { recursive: true, force: true });
});

async function choose(name: string, lines: readonly string[]): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, lines.join('\n'));
  await visitor.page.getByLabel('File with records').setInputFiles(path);
}

const lines = RECORDS.map((record) => JSON.stringify(record));

test('a transfer: a file is imported, and a wrong line is named', async () => {
  await visitor.go('#/collections/notes/transfer');
  await visitor.sees('Import');
  await visitor.expectSound('import and export');
  const wrong = JSON.stringify({ id: 'x', values: [1, 2], '<b>\u202e': 1 });
  await choose('wrong.ndjson', [...lines.slice(0, 3), wrong]);
  await visitor.press('Import');
  await visitor.sees(/line 4\./);
  await visitor.expectSound('a wrong line');
  await choose('records.ndjson', lines);
  await visitor.press('Import');
  await visitor.sees('Imported 500 records');
  await visitor.expectSound('an import');
});

test('a transfer: an export has the root of the records', async () => {
  expect((await service.api('POST', '/collections/notes/upsert', { records: RECORDS })).status).toBe(200);
  await visitor.go('#/collections/notes/transfer');
  await visitor.press('Export to a file');
  await visitor.sees('with the root');
  const root = rootOfRecords(RECORDS);
  const shown = await visitor.page.locator('.fingerprint-whole code').textContent();
  expect(shown?.replace(/\s/g, '')).toBe(root);
  await visitor.expectSound('an export');
  await visitor.picture('transfer', { width: 1120, height: 620 });
});
