/** What a collection holds in memory and what an account used by day, in the console. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const DIMENSIONS = 64;
const RECORDS = 400;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN })]);
  await service.api('POST', '/collections', { name: 'filled', dimensions: DIMENSIONS, shards: 4 });
  await service.api('POST', '/collections', { name: 'unused', dimensions: DIMENSIONS, shards: 2 });
  const records = recordsNamed('r', RECORDS, DIMENSIONS);
  expect((await service.api('POST', '/collections/filled/upsert', { records })).status).toBe(200);
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
});
beforeEach(async () => {
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
});
afterEach(() => visitor.close());

function recordsNamed(prefix: string, count: number, dimensions: number) {
  return Array.from({ length: count }, (_, at) => ({
    id: `${prefix}${at}`,
    values: Array.from({ length: dimensions }, (__, place) => Math.sin(at * dimensions + place)),
    metadata: { text: 'x'.repeat(200), number: at },
  }));
}

describe('the tab Memory', () => {
  test('shows what each part and each shard holds', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/filled/memory');
    await visitor.sees('4 of 4');
    const { body } = await service.api<{ bytes: number }>('GET', '/collections/filled/memory');
    expect(body.bytes).toBeGreaterThan(RECORDS * DIMENSIONS * 4);
    await visitor.sees('Merkle map');
    await visitor.page.getByText('Parts of each shard in numbers').click();
    expect(await visitor.page.locator('[aria-label="Parts of each shard"] tbody tr').count()).toBe(4);
    await visitor.expectSound('memory');
    await visitor.page.getByText('Parts of each shard in numbers').click();
    await visitor.picture('memory', { width: 1120, height: 860 });
  });

  test('says that shards are closed', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/unused/memory');
    await visitor.sees('No shard is open');
    await visitor.sees('0 of 2');
    expect(await visitor.page.getByText('Closed', { exact: true }).count()).toBe(2);
    await visitor.expectSound('memory of closed shards');
  });

  test('is refused to a key that may not read', async () => {
    const made = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'w', scopes: ['write'] });
    await visitor.signIn(made.body.key.secret);
    await visitor.go('#/collections/filled/memory');
    await visitor.sees('This key may not do that');
    await visitor.expectSound('memory of a key that may not read');
  });
});

describe('usage by day', () => {
  test('is drawn with the limits of the plan, and told in numbers', async () => {
    const { api, key } = await createTenant(service, 'free', 'counted');
    await visitor.signIn(key.secret);
    await visitor.go('#/usage');
    await visitor.sees('Nothing was written or queried in these days.');
    await visitor.expectSound('no usage by day');
    await api('POST', '/collections', { name: 'notes', dimensions: 2 });
    expect((await api('POST', '/collections/notes/upsert', { records: recordsNamed('d', 24, 2) })).status).toBe(200);
    await visitor.page.getByLabel('Days', { exact: true }).selectOption('7');
    await visitor.sees('in 7 days, at most 24 in one');
    await visitor.sees(/Spread evenly, this month’s limit allows [\d,]+ a day\./);
    await visitor.page.getByText('The days in numbers').click();
    expect(await visitor.page.locator('[aria-label="Usage by day"] tbody tr').first().textContent()).toMatch(/24/);
    await visitor.expectSound('usage by day');
    await visitor.page.getByLabel('Days', { exact: true }).selectOption('400');
    await visitor.sees('in 400 days');
    await visitor.page.getByText('The days in numbers').click();
    await visitor.expectSound('usage of 400 days');
    await visitor.go('#/keys');
    await visitor.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
    await visitor.go('#/usage');
    await visitor.sees('in 30 days, at most 24 in one');
    await visitor.picture('usage', { width: 1120, height: 820 });
  });

  test('without limits has no even share', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/usage');
    await visitor.sees(`${RECORDS} in 30 days`);
    expect(await visitor.page.getByText('Spread evenly').count()).toBe(0);
    await visitor.expectSound('usage without limits');
  });
});
