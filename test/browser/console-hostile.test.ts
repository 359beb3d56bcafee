/** Records that try to be markup, to turn text around, or to fill the page. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const MARKUP = '<img src=x onerror="globalThis.wasRun = true"><script>globalThis.wasRun = true</script>';
const TURNED = 'invoice\u202efdp.exe';
const LONG = 'long '.repeat(8_000);
const RECORDS: readonly { id: string; values: number[]; metadata?: object }[] = [
  { id: MARKUP, values: [1, 0], metadata: { [MARKUP]: MARKUP } },
  { id: TURNED, values: [0, 1], metadata: { name: TURNED, isolates: '\u2067\u2068a\u2069\u2069' } },
  { id: 'a\0b\u0007\u001b[31m', values: [1, 1], metadata: { nul: '\0' } },
  { id: 'שלום עולם'.padEnd(200, 'ש'), values: [1, 2], metadata: { text: LONG } },
  { id: 'i'.repeat(512), values: [2, 1], metadata: { constructor: 'c', toString: 't' } },
  { id: '__proto__', values: [3, 1], metadata: { a: 1 } },
  { id: 'javascript:alert(1)', values: [4, 1], metadata: { href: 'javascript:alert(1)' } },
  { id: '%2e%2e/../?a=b#c&d', values: [5, 1] },
];
const NAMESPACES = ['', MARKUP, 'ns\u202e\u0001'];

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN })]);
  await service.api('POST', '/collections', { name: 'hostile', dimensions: 2 });
  for (const namespace of NAMESPACES) {
    const { status } = await service.api('POST', '/collections/hostile/upsert', { records: RECORDS, namespace });
    expect(status).toBe(200);
  }
  await service.api('POST', '/keys', { name: `${MARKUP}`.slice(0, 64) });
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY);
});
afterAll(async () => {
  await visitor.close();
  await browser.dispose();
  await service.dispose();
});

const recordHash = (id: string, namespace: string) =>
  `#/collections/hostile/browse?${new URLSearchParams({ record: id, ...(namespace && { namespace }) })}`;

/** What a reader could take for something else: marks of direction and controls as themselves. */
const HIDDEN_TEXT =
  '/[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008\\u000b-\\u001f]/.test(document.getElementById("main").innerText)';

async function expectText(what: string): Promise<void> {
  await visitor.expectSound(what);
  expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
  expect([what, await visitor.page.evaluate(HIDDEN_TEXT)]).toEqual([what, false]);
  expect(await visitor.page.locator('main img, main script').count()).toBe(0);
  // A record must not push the page around, however long it is.
  expect(await visitor.page.evaluate<number>('document.documentElement.scrollHeight')).toBeLessThan(4_000);
}

describe.each(NAMESPACES)('in the namespace %j', (namespace) => {
  test.each(RECORDS.map(({ id }) => id))('%j is text, and is proven', async (id) => {
    await visitor.go(recordHash(id, namespace));
    await visitor.sees('Vector');
    await visitor.press('Prove it here');
    await visitor.sees('Proven: this record is in the collection');
    await expectText(id.slice(0, 20));
  });
});

test('lists, matches and keys are text', async () => {
  await visitor.go('#/collections/hostile/browse');
  await visitor.sees(`${RECORDS.length} records shown`);
  await expectText('records');
  await visitor.page.getByLabel('Namespace').fill(MARKUP);
  await visitor.sees(`${RECORDS.length} records shown`);
  await expectText('records of a namespace');
  await visitor.go(`#/collections/hostile/query?${new URLSearchParams({ id: TURNED })}`);
  await visitor.press('Run the query');
  await visitor.sees('8 of 8');
  await expectText('matches');
  await visitor.go('#/keys');
  await visitor.sees('This session');
  await expectText('keys');
});

test.each(['#/<img src=x onerror=alert(1)>', '#/collections/%00%E2%80%AE', '#/collections/hostile/<b>', '#/%'])(
  'the address %s is no page, and no markup',
  async (hash) => {
    await visitor.go(hash);
    await visitor.sees(/There is no such page|Not found|A collection has no such part/);
    await expectText(hash);
  },
);

test('one account never sees what another has', async () => {
  const other = await createTenant(service, 'enterprise', 'other');
  await other.api('POST', '/collections', { name: 'theirs', dimensions: 2 });
  await visitor.go('#/collections');
  await visitor.sees('hostile');
  await visitor.press('Sign out');
  await visitor.enter(other.key.secret);
  await visitor.sees('theirs');
  expect(await visitor.page.getByText('hostile').count()).toBe(0);
  await visitor.go('#/collections/hostile/browse');
  await visitor.sees('Not found');
  expect(visitor.faults).toEqual([]);
});

test('no page of another origin can frame the console', async () => {
  const outside = await browser.open();
  await outside.page.goto(`data:text/html,<iframe src="${service.url}/console/"></iframe>`);
  await until('the frame is refused', () =>
    outside.page.evaluate<boolean>('document.querySelector("iframe").contentDocument === null'),
  );
  expect(await outside.page.evaluate<string>('document.body.innerText')).not.toContain('Sign in');
  await outside.close();
});
