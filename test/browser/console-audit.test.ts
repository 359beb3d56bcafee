/** Audit links: made and revoked in the console, and what they show to anyone. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { inStoreFile } from '../support/store-file.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY, type Tenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const SECRET = 'secret-record';
/** `auditLinksMax` of `lib/limits.ts`. */
const LINKS_MAX = 100;
/** Roots on a page of the history. */
const PAGE = 100;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  [browser, service] = await Promise.all([
    startBrowser(),
    startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_ANCHOR_WAIT_MS: '10000' }),
  ]);
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
  for (let at = 0; at < 6; at++) await write(service, 'notes', `${SECRET}-${at}`);
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
});
beforeEach(async () => {
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
});
afterEach(() => visitor.close());

/** Writes a record, and returns once its root is anchored if the service has a ledger. */
async function write({ api }: Pick<ServiceProcess, 'api'>, name: string, id: string): Promise<void> {
  const records = [{ id, values: [0.25, 0.75], metadata: { secret: 'field' } }];
  const { status, body } = await api<{ anchor: { status: string } }>('POST', `/collections/${name}/upsert`, {
    records,
  });
  expect([status, body.anchor.status === 'pending']).toEqual([200, false]);
}

async function makeLink({ api }: Pick<Tenant, 'api'>, body: object, name = 'notes'): Promise<string> {
  const made = await api<{ link: { token: string } }>('POST', `/collections/${name}/audit-links`, body);
  expect(made.status).toBe(201);
  return made.body.link.token;
}

const openLink = (token: string): Promise<unknown> => visitor.page.goto(`${service.url}/console/#/audit/${token}`);
const shownLink = async (): Promise<string> =>
  `${await visitor.page.locator('[aria-label="the link"] code').textContent()}`;

describe('on the tab Trust', () => {
  test('links are made, shown once, opened without a key, and revoked', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/notes/trust');
    await visitor.sees('No link was handed out yet.');
    await visitor.expectSound('no audit links');
    await visitor.press('New audit link');
    await visitor.page.getByLabel('Label').fill('x'.repeat(65));
    await visitor.sees('At most 64 characters.');
    await visitor.expectSound('a new audit link');
    await visitor.page.getByLabel('Label').fill('For our auditors');
    await visitor.press('Create');
    await visitor.sees('Copy this link now.');
    await visitor.expectSound('a made audit link');
    await visitor.picture('audit-links', { width: 1120, height: 620, to: 'Audit links' });
    const address = await shownLink();
    expect(address).toMatch(new RegExp(`^${service.url}/console/#/audit/pv_audit_[\\w-]{43}$`));
    await visitor.press('I have copied it');
    expect(await visitor.page.getByText(address).count()).toBe(0);

    const reader = new ConsoleVisitor(await browser.open(), () => service.url);
    await reader.page.goto(address);
    await reader.page.getByRole('heading', { name: 'For our auditors' }).waitFor();
    await visitor.press('Revoke For our auditors');
    await visitor.sees('It cannot be undone.');
    await visitor.expectSound('an audit link to revoke');
    await visitor.page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await visitor.sees('No link was handed out yet.');
    await reader.press('Refresh');
    await reader.sees('This link shows nothing');
    await reader.close();
  });

  test('an expired link is said to be, and one too many is refused in words', async () => {
    const tenant = await createTenant(service, 'enterprise', 'many-links');
    await tenant.api('POST', '/collections', { name: 'notes', dimensions: 2 });
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const expiring = await makeLink(tenant, { label: 'short', expiresAt });
    for (let at = 1; at < LINKS_MAX; at++) await makeLink(tenant, { label: `link ${at}` });
    await visitor.signIn(tenant.key.secret);
    await until('the link has expired', () => Date.now() > Date.parse(expiresAt));
    await visitor.go('#/collections/notes/trust');
    await visitor.sees('Expired');
    await visitor.press('New audit link');
    await visitor.press('Create');
    await visitor.sees(`The collection notes has ${LINKS_MAX} audit links; delete one first.`);
    await visitor.expectSound('as many audit links as there may be');
    await openLink(expiring);
    await visitor.sees('This link shows nothing');
  });

  test('a key that may not manage is told so', async () => {
    const made = await service.api<{ key: { secret: string } }>('POST', '/keys', { name: 'r', scopes: ['read'] });
    await visitor.signIn(made.body.key.secret);
    await visitor.go('#/collections/notes/trust');
    await visitor.sees('This key may not hand out links.');
    await visitor.expectSound('audit links of a key that may only read');
  });
});

describe('the page of a link', () => {
  test('shows roots, anchors and counts, and no data, and asks for no key', async () => {
    await openLink(await makeLink(service, { label: 'For our auditors', expiresAt: '2099-01-01T00:00:00Z' }));
    await visitor.page.getByRole('heading', { name: 'For our auditors' }).waitFor();
    await visitor.seesFact('Records', '6');
    await visitor.sees('The ledger holds this root.');
    await visitor.sees('Link valid until');
    await visitor.sees('Check it yourself');
    await visitor.expectSound('an audit');
    await visitor.picture('audit', { width: 1120, height: 860 });
    expect(await visitor.page.getByLabel('API key').count()).toBe(0);
    const shown = await visitor.page.evaluate<string>('document.title + document.body.innerText');
    expect(shown).not.toMatch(/secret|notes|pv_audit/);
  });

  test('has the history in pages, and follows the collection', async () => {
    const tenant = await createTenant(service, 'enterprise', 'long-history');
    await tenant.api('POST', '/collections', { name: 'notes', dimensions: 2 });
    for (let at = 0; at <= PAGE; at++) await write(tenant, 'notes', `r${at}`);
    await openLink(await makeLink(tenant, {}));
    await visitor.page.getByRole('heading', { name: 'Audit of a collection' }).waitFor();
    await visitor.sees(`${PAGE} roots shown`);
    await visitor.press('Show earlier ones');
    await visitor.page.getByRole('button', { name: 'Show earlier ones' }).waitFor({ state: 'hidden' });
    await visitor.expectSound('an audit with a long history');
    await write(tenant, 'notes', 'newer');
    await visitor.press('Refresh');
    await visitor.seesFact('Records', `${PAGE + 2}`);
  });

  test('of an empty collection says that there is no root yet', async () => {
    const tenant = await createTenant(service, 'enterprise', 'empty-audit');
    await tenant.api('POST', '/collections', { name: 'notes', dimensions: 2 });
    await openLink(await makeLink(tenant, {}));
    await visitor.seesFact('Records', '0');
    await visitor.sees('No root of this collection is on a ledger.');
    await visitor.expectSound('an audit of an empty collection');
  });

  test('names the entries of the history that someone changed in the store', async () => {
    const tenant = await createTenant(service, 'enterprise', 'changed-history');
    const made = await tenant.api<{ collection: { id: string } }>('POST', '/collections', {
      name: 'old',
      dimensions: 2,
    });
    for (let at = 0; at < 3; at++) await write(tenant, 'old', `r${at}`);
    inStoreFile(service.dataDir, 'log.db', (file) =>
      file.exec(
        `UPDATE anchor_history SET item = replace(item, '"vectorCount":2', '"vectorCount":20')
         WHERE version = 2 AND collection = '${made.body.collection.id}'`,
      ),
    );
    await openLink(await makeLink(tenant, {}, 'old'));
    await visitor.sees('This history was changed in the store.');
    await visitor.sees(/^Position 2:/);
    await visitor.expectSound('an audit with a changed history');
  });

  test('that is wrong shows nothing, and keeps the session of a reader who is signed in', async () => {
    for (const token of ['', '..', 'unknown', `pv_audit_${'A'.repeat(43)}`, 'x'.repeat(2_000), 'a%20b']) {
      await openLink(token);
      await visitor.page.getByRole('heading', { name: 'This link shows nothing' }).waitFor();
    }
    await visitor.expectSound('a wrong audit link');
    await visitor.signIn(TEST_KEY);
    await visitor.go(`#/audit/${await makeLink(service, { label: 'Signed in' })}`);
    await visitor.page.getByRole('heading', { name: 'Signed in' }).waitFor();
    await visitor.page.getByRole('link', { name: 'Back to the console' }).click();
    await visitor.page.getByRole('heading', { name: 'Collections', exact: true }).waitFor();
  });

  test('without a ledger says that only the service vouches', async () => {
    const other = await startProcess({ PROVEC_LEDGER: 'off' });
    try {
      await other.api('POST', '/collections', { name: 'notes', dimensions: 2 });
      await write(other, 'notes', 'a');
      const guest = new ConsoleVisitor(await browser.open(), () => other.url);
      await guest.page.goto(`${other.url}/console/#/audit/${await makeLink(other, {})}`);
      await guest.sees('The ledger is off');
      await guest.expectSound('an audit without a ledger');
      await guest.close();
    } finally {
      await other.dispose();
    }
  });
});
