/** Each page of the console in each of its states, in a real browser against a real service. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { debianSample } from '../../examples/debian-sample.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY, type Tenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const BATCH = 500;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  const [port] = await freePorts(1);
  [browser, service] = await Promise.all([
    startBrowser(),
    startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_PORT: `${port}` }),
  ]);
  await service.api('POST', '/collections', { name: 'debian', dimensions: 384 });
  const records = debianSample();
  for (let at = 0; at < records.length; at += BATCH)
    await service.api('POST', '/collections/debian/upsert', { records: records.slice(at, at + BATCH) });
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
});
beforeEach(async () => {
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
});
afterEach(() => visitor.close());

const tenant = (name: string): Promise<Tenant> => createTenant(service, 'enterprise', name);

describe('signing in', () => {
  test('a key that the service does not know is refused beside the field', async () => {
    await visitor.page.goto(`${service.url}/console/`);
    await visitor.page.getByText('I have no key').click();
    await visitor.expectSound('sign-in');
    await visitor.picture('sign-in', { width: 800, height: 520 });
    await visitor.enter('pv_live_unknown');
    await visitor.sees('Provec does not know this key.');
    await visitor.expectSound('sign-in with a wrong key');
    await visitor.enter('kéy with spaces');
    await visitor.sees('Provec does not know this key.');
  });

  test('the key is in the memory of the page alone, unless its owner ticks the box', async () => {
    const storedKeys = () =>
      visitor.page.evaluate<string>('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href])');
    await visitor.signIn(TEST_KEY);
    expect(await storedKeys()).not.toContain(TEST_KEY);
    await visitor.page.reload();
    await visitor.page.getByLabel('API key').waitFor();
    await visitor.signIn(TEST_KEY, { isKept: true });
    await visitor.page.reload();
    await visitor.page.getByRole('heading', { name: 'Collections', exact: true }).waitFor();
    expect(visitor.page.url()).not.toContain('pv_live');
    expect(await visitor.page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain(TEST_KEY);
    await visitor.press('Sign out');
    await visitor.page.getByLabel('API key').waitFor();
    expect(await storedKeys()).not.toContain(TEST_KEY);
  });

  test('a key that was revoked meanwhile ends the session, and says so', async () => {
    const { api, key } = await tenant('revoked');
    const made = await api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'short' });
    await visitor.signIn(made.body.key.secret);
    await visitor.go('#/usage');
    await visitor.sees('This month');
    await api('DELETE', `/keys/${made.body.key.id}`);
    await visitor.go('#/keys');
    await visitor.sees('Your key is no longer accepted.');
    await visitor.expectSound('a revoked key');
    await visitor.enter(key.secret);
    await visitor.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
  });
});

describe('an empty account', () => {
  test('leads to a collection, to records, and to a first query', async () => {
    const { key } = await tenant('beginner');
    await visitor.signIn(key.secret);
    await visitor.sees('No collections yet');
    await visitor.expectSound('no collections');
    await visitor.press('Create the first one');
    await visitor.press('Create');
    await visitor.sees('Give it a name.');
    await visitor.page.getByLabel('Name').fill('no/slash');
    await visitor.page.getByLabel('Dimensions').fill('9000');
    await visitor.sees('Letters, digits, and between them');
    await visitor.page.getByText('More settings').click();
    await visitor.expectSound('wrong values for a collection');
    await visitor.page.getByLabel('Name').fill('notes');
    await visitor.page.getByLabel('Dimensions').fill('4');
    await visitor.press('Create');
    await visitor.sees('No records yet');
    await visitor.expectSound('an empty collection');
    await visitor.picture('first-records', { width: 960, height: 600 });
    await visitor.press('Write 24 sample records');
    await visitor.sees('Find what is near');
    await visitor.press('Run the query');
    await visitor.sees('10 of 10');
    await visitor.go('#/collections');
    await visitor.press('New collection');
    await visitor.page.getByLabel('Name').fill('notes');
    await visitor.page.getByLabel('Dimensions').fill('4');
    await visitor.press('Create');
    await visitor.sees('A collection named notes already exists.');
    await visitor.expectSound('a name that is taken');
  });

  test('deletes a collection once its name was typed', async () => {
    const { api, key } = await tenant('deleter');
    await api('POST', '/collections', { name: 'old', dimensions: 2 });
    await visitor.signIn(key.secret);
    await visitor.go('#/collections/old/settings');
    await visitor.press('Delete…');
    expect(await visitor.page.getByRole('button', { name: 'Delete the collection' }).isDisabled()).toBe(true);
    await visitor.expectSound('a collection to delete');
    await visitor.page.getByLabel('Type old to confirm').fill('old');
    await visitor.press('Delete the collection');
    await visitor.sees('No collections yet');
    expect((await api('GET', '/collections/old')).status).toBe(404);
  });
});

describe('the demo’s records', () => {
  test('are listed, queried by record and by vector, filtered, and measured', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.sees('Anchored');
    await visitor.expectSound('collections');
    await visitor.picture('collections', { width: 1120, height: 360 });
    await visitor.go('#/collections/debian/query?id=redis-server');
    await visitor.page.getByLabel('Filter').fill('{"section": "database"}');
    await visitor.sees(/records match\./);
    await visitor.press('Run the query');
    await visitor.sees('redis-sentinel');
    await visitor.expectSound('a query');
    await visitor.picture('query', { width: 1200, height: 640 });
    await visitor.page.getByLabel('Filter').fill('{"section": {"$like": 1}}');
    await visitor.page.locator('.field-wrong').waitFor();
    expect(await visitor.page.getByRole('button', { name: 'Run the query' }).isDisabled()).toBe(true);
    await visitor.expectSound('a wrong filter');
    await visitor.page.getByLabel('Filter').fill('{"section": "none"}');
    await visitor.sees('0 records match.');
    await visitor.press('Run the query');
    await visitor.sees('Nothing matches');
    await visitor.press('A vector');
    await visitor.page.getByLabel('Vector').fill('1, 2, 3');
    await visitor.sees('These are 3 numbers; the collection has 384 dimensions.');
    await visitor.page.getByLabel('Filter').fill('');
    await visitor.page.getByLabel('Vector').fill(JSON.stringify(debianSample()[7]!.values));
    await visitor.press('Run the query');
    await visitor.sees(debianSample()[7]!.id);
    await visitor.expectSound('a query by vector');
  });

  test('are browsed in pages, by prefix and by filter', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/debian/browse');
    await visitor.sees('100 records shown');
    await visitor.expectSound('records');
    await visitor.press('Show 100 more');
    await visitor.sees('200 records shown');
    await visitor.expectSound('a long table');
    await visitor.page.getByLabel('Ids that begin with').fill('redis');
    await visitor.sees(/^[1-9] records shown/);
    await visitor.page.getByLabel('Ids that begin with').fill('no-such');
    await visitor.sees('No such records');
    await visitor.expectSound('no such records');
  });

  test('are shown one by one, and proven in the browser, present or absent', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/debian/browse?record=redis-server');
    await visitor.press('Prove it here');
    await visitor.sees('Proven: this record is in the collection');
    await visitor.expectSound('a proven record');
    await visitor.picture('record', { width: 1120, height: 720 });
    await visitor.go('#/collections/debian/browse?record=no-such-package');
    await visitor.sees('There is no such record');
    await visitor.press('Prove it here');
    await visitor.sees('Proven: there is no such record');
    await visitor.expectSound('an absent record');
  });

  test('are verified against the ledger', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/debian/trust');
    await visitor.sees('Roots on the ledger');
    await visitor.expectSound('trust');
    await visitor.press('Verify now');
    await visitor.sees('The stored records give exactly the root on the ledger.');
    await visitor.expectSound('a verified collection');
    await visitor.picture('verified', { width: 1160, height: 600 });
    await visitor.picture('verified-dark', { width: 1160, height: 600, scheme: 'dark' });
  });
});

describe('keys', () => {
  test('are made, shown once, and revoked', async () => {
    const { api, key } = await tenant('keeper');
    await visitor.signIn(key.secret);
    await visitor.go('#/keys');
    await visitor.sees('This session');
    await visitor.expectSound('keys');
    await visitor.press('New key');
    await visitor.press('Create');
    await visitor.sees('Give it a name.');
    await visitor.expectSound('a new key');
    await visitor.page.getByLabel('Name').fill('search');
    await visitor.press('Create');
    await visitor.sees('Copy this key now.');
    await visitor.expectSound('a made key');
    await visitor.press('I have copied it');
    await visitor.press('Revoke search');
    await visitor.expectSound('a key to revoke');
    await visitor.page.getByRole('button', { name: 'Revoke', exact: true }).click();
    await visitor.page.getByRole('button', { name: 'Revoke search' }).waitFor({ state: 'hidden' });
    expect((await api<{ keys: unknown[] }>('GET', '/keys')).body.keys).toHaveLength(1);
  });

  test('that may only read are told what they may not do', async () => {
    const { api } = await tenant('reader');
    const made = await api<{ key: { secret: string } }>('POST', '/keys', { name: 'reader', scopes: ['read'] });
    await visitor.signIn(made.body.key.secret);
    await visitor.sees('This key may not create or delete collections.');
    await visitor.sees('This key may not create one.');
    expect(await visitor.page.getByRole('button', { name: 'New collection' }).isDisabled()).toBe(true);
    await visitor.expectSound('collections of a key that may only read');
    await visitor.go('#/keys');
    await visitor.sees('This key may not do that');
    await visitor.expectSound('keys of a key that may only read');
  });
});

test('usage, and places that there are not', async () => {
  const { key } = await createTenant(service, 'free', 'small');
  await visitor.signIn(key.secret);
  await visitor.go('#/usage');
  await visitor.sees('Stored vectors');
  await visitor.expectSound('usage');
  await visitor.go('#/nowhere');
  await visitor.sees('There is no such page');
  await visitor.expectSound('no page');
  await visitor.go('#/collections/debian');
  await visitor.sees('Not found');
  await visitor.expectSound('a collection of another account');
});

test('every page is reached with the keyboard alone, at any width', async () => {
  await visitor.signIn(TEST_KEY);
  await visitor.page.setViewportSize({ width: 360, height: 740 });
  await visitor.page.getByRole('button', { name: 'Menu' }).press('Enter');
  await visitor.page.getByRole('link', { name: 'Usage' }).press('Enter');
  await visitor.sees('This month');
  await visitor.page.getByRole('button', { name: 'Menu' }).press('Enter');
  await visitor.page.getByLabel('Theme').selectOption('contrast');
  await visitor.page.setViewportSize({ width: 1440, height: 900 });
  await visitor.expectSound('high contrast');
  await visitor.page.reload();
  await visitor.page.keyboard.press('Tab');
  expect(await visitor.page.evaluate('document.activeElement.id !== ""')).toBe(true);
  expect(await visitor.page.evaluate('document.documentElement.dataset.theme')).toBe('contrast');
});

test('a system that asks for more contrast gets it, until the reader chooses otherwise', async () => {
  const theme = () => visitor.page.evaluate<string>('document.documentElement.dataset.theme');
  await visitor.signIn(TEST_KEY);
  expect(await theme()).toBe('system');
  await visitor.page.emulateMedia({ contrast: 'more' });
  await until('the page follows', async () => (await theme()) === 'contrast');
  await visitor.page.getByLabel('Theme').selectOption('light');
  expect(await theme()).toBe('light');
});

test('a service that is away is said to be, and the page goes on when it is back', async () => {
  await visitor.signIn(TEST_KEY);
  await visitor.go('#/usage');
  await visitor.sees('This month');
  await service.kill('SIGTERM');
  await visitor.go('#/collections/debian/trust');
  await visitor.sees(/could not be loaded|cannot be reached/);
  await visitor.expectSound('a service that is away');
  await service.restart();
  await visitor.press('Try again');
  await visitor.sees('Is it still what was written?');
});

test('without a ledger, Trust says so', async () => {
  const other = await startProcess({ PROVEC_LEDGER: 'off' });
  const guest = new ConsoleVisitor(await browser.open(), () => other.url);
  try {
    await other.api('POST', '/collections', { name: 'notes', dimensions: 2 });
    await other.api('POST', '/collections/notes/upsert', { records: [{ id: 'a', values: [1, 2] }] });
    await guest.signIn(TEST_KEY);
    await guest.go('#/collections/notes/trust');
    await guest.sees('Nothing of this collection is on a ledger');
    await guest.press('Verify now');
    await guest.sees('Sound, but not on a ledger');
    await guest.expectSound('no ledger');
  } finally {
    await guest.close();
    await other.dispose();
  }
});
