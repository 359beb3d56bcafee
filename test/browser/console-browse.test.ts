/** Browse with facets, columns and the filter builder, in a real browser. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { debianSample } from '../../examples/debian-sample.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';
const BATCH = 500;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  [browser, service] = await Promise.all([startBrowser(), startProcess()]);
  await service.api('POST', '/collections', { name: 'debian', dimensions: 384 });
  const records = debianSample();
  for (let at = 0; at < records.length; at += BATCH)
    await service.api('POST', '/collections/debian/upsert', { records: records.slice(at, at + BATCH) });
  await service.api('POST', '/collections', { name: 'hostile', dimensions: 2 });
  const hostile = [
    {
      id: 'a',
      values: [1, 0],
      metadata: { [MARKUP]: MARKUP, $price: 5, 'turn\u202e': 'x\u202e\0' },
    },
    { id: 'b', values: [0, 1], metadata: { long: 'long '.repeat(8_000), list: [[1], { a: 1 }] } },
    { id: 'c', values: [1, 1] },
  ];
  expect((await service.api('POST', '/collections/hostile/upsert', { records: hostile })).status).toBe(200);
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY);
});
afterAll(async () => {
  await visitor.close();
  await browser.dispose();
  await service.dispose();
});

const filterText = () => visitor.page.evaluate<string>('document.querySelector("textarea").value');
const openField = (name: string) => visitor.page.locator(`.facets summary:has-text("${name}")`).click();

test('facets count values, filter by them, and show what else there is', async () => {
  await visitor.go('#/collections/debian/browse');
  await visitor.sees('100 records shown');
  await openField('section');
  await visitor.page.locator('.facet-value:has-text("utils")').click();
  await visitor.sees('186 records match.');
  expect(await filterText()).toBe('{"section":"utils"}');
  await visitor.page.locator('.facet-value[aria-pressed="true"]:has-text("utils")').waitFor();
  expect(await visitor.page.locator('.facet-value').count()).toBe(10);
  await openField('arch');
  await visitor.page.locator('.facet-value:has-text("amd64")').waitFor();
  await visitor.page.getByText('Columns', { exact: true }).first().click();
  await visitor.page.getByLabel('section', { exact: true }).check();
  await visitor.page.getByLabel('size', { exact: true }).check();
  await visitor.page.locator('td:has-text("14148")').first().waitFor();
  await visitor.expectSound('facets and columns');
  await visitor.page.getByText('Columns', { exact: true }).first().click();
  await visitor.picture('browse', { width: 1200, height: 780 });
  await visitor.page.locator('.facet-value[aria-pressed="true"]').click();
  await until('the filter is gone', async () => (await filterText()) === '');
});

test('columns are remembered in this tab, and nowhere else', async () => {
  await visitor.go('#/keys');
  await visitor.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
  await visitor.go('#/collections/debian/browse');
  await visitor.page.locator('th:has-text("size")').waitFor();
  expect(await visitor.page.evaluate<string>('JSON.stringify({ ...localStorage })')).not.toContain('size');
  await visitor.go('#/collections/hostile/browse');
  await visitor.page.locator('th:has-text("Metadata")').waitFor();
});

test('the filter builder writes conditions, which the service checks', async () => {
  await visitor.go('#/collections/debian/browse');
  await visitor.page.getByText('Add a condition').click();
  await visitor.page.getByLabel('Field', { exact: true }).fill('section');
  await visitor.page.getByLabel('Value', { exact: true }).fill('database');
  await visitor.sees('Read as a text.');
  await visitor.press('Add');
  await visitor.page.getByLabel('Field', { exact: true }).fill('installedKiB');
  await visitor.page.getByLabel('Condition', { exact: true }).selectOption('$gte');
  await visitor.page.getByLabel('Value', { exact: true }).fill('1000');
  await visitor.sees('Read as a number.');
  await visitor.page.getByLabel('Value', { exact: true }).press('Enter');
  await until('both conditions are there', async () => {
    const text = await filterText();
    return text === '{"section":"database","installedKiB":{"$gte":1000}}';
  });
  await visitor.sees(/records match\./);
  await visitor.expectSound('the filter builder');
  await visitor.page.getByLabel('Filter', { exact: true }).fill('{"section": ');
  await visitor.sees('Not JSON yet');
  expect(await visitor.page.getByRole('button', { name: 'Add', exact: true }).isDisabled()).toBe(true);
  await visitor.page.getByLabel('Filter', { exact: true }).fill('{"section": "none"}');
  await visitor.sees('No such records');
  await visitor.expectSound('a filter without records');
});

test('hostile fields and values are text', async () => {
  await visitor.go('#/collections/hostile/browse');
  await visitor.sees('3 records shown');
  const names = ['<img', '$price', 'turn', 'long', 'list'];
  for (const name of names) await openField(name);
  await visitor.page.getByText('Columns', { exact: true }).first().click();
  for (const box of ['$price', 'long', 'list']) await visitor.page.getByLabel(box, { exact: true }).check();
  await visitor.sees('U+202E');
  await until('all facets are counted', () =>
    visitor.page.evaluate<boolean>('document.querySelectorAll(".facet-value").length >= 6'),
  );
  await visitor.expectSound('hostile facets');
  expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
  expect(await visitor.page.locator('main img').count()).toBe(0);
  await visitor.page.locator('.facet-value:has-text("<img")').click();
  await visitor.sees('1 record matches.');
  expect(await filterText()).toBe(JSON.stringify({ [MARKUP]: MARKUP }));
});

test('facets are refused to a key that may not read', async () => {
  const made = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
  await visitor.press('Sign out');
  await visitor.enter(made.body.key.secret);
  await visitor.go('#/collections/debian/browse');
  await visitor.sees('This key may not do that');
  await visitor.expectSound('records of a key that may not read');
});
