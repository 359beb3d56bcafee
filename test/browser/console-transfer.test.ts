/** Import and export of a collection in the console. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { rootOfRecords } from '../../client/index.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

type ParquetColumns = Parameters<typeof parquetWriteBuffer>[0]['columnData'];

const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';
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

async function chooseParquet(name: string, columnData: ParquetColumns, rowGroupSize = 200): Promise<void> {
  const path = join(folder, name);
  await writeFile(path, Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize })));
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
});

test('a transfer: Parquet is read in the browser once its columns are mapped', async () => {
  await service.api('POST', '/collections', { name: 'parquet', dimensions: 2 });
  await visitor.go('#/collections/parquet/transfer');
  const isLoaded = () =>
    visitor.page.evaluate<boolean>(
      'performance.getEntriesByType("resource").some(({ name }) => name.includes("parquet-"))',
    );
  await visitor.page.locator('h1:has-text("parquet")').waitFor();
  expect(await isLoaded()).toBe(false);
  const rows = Array.from({ length: 450 }, (_, at) => at);
  await chooseParquet('packages.parquet', [
    { name: 'package', data: ['redis-server', 'nginx'], type: 'STRING' },
    { name: 'summary', data: ['Persistent key-value database', 'Web server'], type: 'STRING' },
    {
      name: 'embedding',
      data: [
        [0.6, 0.8],
        [0.8, 0.6],
      ],
    },
    { name: 'section', data: ['database', 'httpd'], type: 'STRING' },
    { name: 'size', data: [73_908, 612_004], type: 'INT32' },
  ]);
  await visitor.sees('2 rows');
  await visitor.picture('transfer', { width: 1120, height: 800 });
  await chooseParquet('hostile.parquet', [
    { name: 'embedding', data: rows.map((at) => [1, at]) },
    { name: 'title', data: rows.map((at) => `title ${at}`), type: 'STRING' },
    { name: 'key', data: rows.map((at) => `p${at}`), type: 'STRING' },
    { name: MARKUP, data: rows.map((at) => `${MARKUP}\u202e${at}`), type: 'STRING' },
    { name: 'year', data: rows.map((at) => 2000 + (at % 20)), type: 'INT32' },
  ]);
  await visitor.sees('450 rows');
  expect(await isLoaded()).toBe(true);
  await visitor.page.getByLabel('year').first().waitFor();
  await visitor.expectSound('columns of a Parquet file');
  await visitor.press('Import');
  await visitor.sees('Imported 450 records');
  await visitor.expectSound('an import of Parquet');
  const { body } = await service.api<{ vectors: Record<string, unknown> }>('POST', '/collections/parquet/fetch', {
    ids: ['p449'],
  });
  expect(body.vectors.p449).toMatchObject({
    values: [1, 449],
    metadata: { title: 'title 449', year: 2009, [MARKUP]: `${MARKUP}\u202e449` },
  });
  expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
});

test('a transfer: a Parquet file that cannot be used is explained', async () => {
  await visitor.go('#/collections/parquet/transfer');
  await choose('broken.parquet', ['not Parquet at all']);
  await visitor.sees('This is not a Parquet file');
  await visitor.expectSound('a broken Parquet file');
  await chooseParquet('short.parquet', [
    { name: 'id', data: ['a', 'b', 'c'], type: 'STRING' },
    { name: 'values', data: [[1, 2], [3, 4], [5]] },
  ]);
  await visitor.sees('3 rows');
  await visitor.press('Import');
  await visitor.sees(/row 3/);
  await visitor.expectSound('a wrong row');
  await chooseParquet('empty.parquet', [
    { name: 'id', data: ['a', 'b'], type: 'STRING' },
    { name: 'values', data: [[1, 2], { x: 1 }] },
  ]);
  await visitor.sees('2 rows');
  await visitor.press('Import');
  await visitor.sees('Row 2: values is not a list of numbers.');
});
