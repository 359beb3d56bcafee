/** The operator's pages of the console, on a whole service in one process. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { apiClient } from '../support/api-client.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TamperedRows } from '../support/tampered-rows.ts';
import { ADMIN_TOKEN, createTenant, operatorApi, TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const OTHER_TOKEN = 'another-token-of-the-tests-0123456789';
const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';
const TURNED = 'invoice\u202efdp.exe';
const QUERIES = 40;
/** Reads of the figures that a line is drawn from. */
const COURSE = 4;

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;
let backups: string;

beforeAll(async () => {
  const [port] = await freePorts(1);
  backups = await mkdtemp(join(tmpdir(), 'provec-backups-'));
  const environment = { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN, PROVEC_PORT: `${port}`, PROVEC_BACKUP_DIR: backups };
  [browser, service] = await Promise.all([startBrowser(), startProcess(environment)]);
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
  await rm(backups, { recursive: true, force: true });
});
beforeEach(async () => {
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
});
afterEach(() => visitor.close());

const records = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `r${at}`, values: [Math.sin(at), Math.cos(at)] }));

describe('the token', () => {
  test('is refused beside the field unless it is the service’s', async () => {
    await visitor.page.goto(`${service.url}/console/#/operator`);
    await visitor.page.getByLabel('Operator’s token').waitFor();
    await visitor.expectSound('the form for the token');
    for (const wrong of ['no-such-token', TEST_KEY, 'tökén']) {
      await visitor.enterToken(wrong);
      await visitor.sees('This is not the token of this service.');
      await visitor.page.getByLabel('Operator’s token').fill('');
      await visitor.page.getByText('This is not the token of this service.').waitFor({ state: 'hidden' });
    }
    await visitor.enterToken('no-such-token');
    await visitor.sees('This is not the token of this service.');
    await visitor.expectSound('a wrong token');
  });

  test('is in no storage, no address and no text, and is gone after a reload', async () => {
    await visitor.operate(ADMIN_TOKEN);
    await visitor.sees('Nothing needs attention.');
    for (const tab of ['accounts', 'audit']) await visitor.go(`#/operator/${tab}`);
    await visitor.sees('Nothing was changed yet');
    await visitor.expectSound('an empty audit log');
    const kept = 'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.cookie])';
    expect(await visitor.page.evaluate<string>(kept)).not.toContain(ADMIN_TOKEN);
    expect(await visitor.page.evaluate<string>('document.documentElement.outerHTML')).not.toContain(ADMIN_TOKEN);
    expect(service.stdout + service.stderr).not.toContain(ADMIN_TOKEN);
    await visitor.page.reload();
    await visitor.page.getByLabel('Operator’s token').waitFor();
    expect(visitor.faults).toEqual([]);
  });

  test('is forgotten on demand, and when the reader signs out', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/operator');
    await visitor.enterToken(ADMIN_TOKEN);
    await visitor.press('Forget the token');
    await visitor.page.getByLabel('Operator’s token').waitFor();
    await visitor.enterToken(ADMIN_TOKEN);
    await visitor.page.getByRole('link', { name: 'Audit log' }).waitFor();
    await visitor.press('Sign out');
    await visitor.page.getByLabel('Operator’s token').waitFor();
    await visitor.page.getByRole('link', { name: 'Keys', exact: true }).click();
    await visitor.page.getByLabel('API key').waitFor();
    await visitor.page.getByText('I have no key').click();
    await visitor.page.getByRole('link', { name: 'I am the operator' }).click();
    await visitor.page.getByLabel('Operator’s token').waitFor();
  });

  test('is none of a service that has no operator, which the page says', async () => {
    const other = await startProcess();
    const guest = new ConsoleVisitor(await browser.open(), () => other.url);
    try {
      await guest.page.goto(`${other.url}/console/#/operator`);
      await guest.enterToken(ADMIN_TOKEN);
      await guest.sees('PROVEC_ADMIN_TOKEN is not set');
      await guest.expectSound('a service without an operator');
    } finally {
      await guest.close();
      await other.dispose();
    }
  });
});

test('an account is made, given a key, moved to another plan, refused a revoked key, and deleted', async () => {
  const operator = operatorApi(service);
  await visitor.operate(ADMIN_TOKEN);
  await visitor.page.getByRole('link', { name: 'Accounts' }).click();
  await visitor.press('New account');
  await visitor.press('Create');
  await visitor.sees('Give it a name.');
  await visitor.expectSound('a new account');
  await visitor.page.getByLabel('Name').fill('Harbour Library');
  await visitor.page.getByLabel('Plan', { exact: true }).selectOption('pro');
  await visitor.sees('500,000 vectors, anchored.');
  await visitor.press('Create');
  await visitor.sees('Copy this key now.');
  await visitor.expectSound('a made account');
  await visitor.press('I have copied it');
  await visitor.page.getByRole('link', { name: 'Harbour Library' }).click();

  await visitor.press('New key');
  await visitor.page.getByLabel('Name').fill('search');
  await visitor.page.getByLabel('write', { exact: true }).check();
  await visitor.page.getByLabel('manage', { exact: true }).check();
  await visitor.press('Create');
  await visitor.sees('Copy this key now.');
  const secret = (await visitor.page.locator('.new-key code').first().textContent())!;
  await visitor.expectSound('a new key of an account');
  await visitor.press('I have copied it');
  const account = apiClient(service, secret);
  expect((await account('POST', '/collections', { name: 'books', dimensions: 2, shards: 4 })).status).toBe(201);
  expect((await account('POST', '/collections/books/upsert', { records: records(3) })).status).toBe(200);

  await visitor.page.getByLabel('Plan', { exact: true }).selectOption('business');
  await visitor.press('Change the plan');
  await visitor.sees('of 5,000,000');
  await visitor.expectSound('an account');
  const id = visitor.page.url().split('/').at(-1)!;
  expect((await operator('GET', `/admin/accounts/${id}`)).body).toMatchObject({ account: { plan: 'business' } });

  await visitor.press('Revoke search');
  expect(await visitor.page.getByRole('button', { name: 'Revoke the key' }).isDisabled()).toBe(true);
  await visitor.expectSound('a key of an account to revoke');
  await visitor.page.getByLabel('Type search to confirm').fill('search');
  await visitor.press('Revoke the key');
  await visitor.page.getByRole('button', { name: 'Revoke search' }).waitFor({ state: 'hidden' });
  await until('the key is refused', async () => (await account('GET', '/collections')).status === 401);

  await visitor.press('Delete…');
  await visitor.sees('with 1 collection and 3 vectors');
  await visitor.page.getByLabel('Type Harbour Library to confirm').fill('Harbour library');
  expect(await visitor.page.getByRole('button', { name: 'Delete the account' }).isDisabled()).toBe(true);
  await visitor.expectSound('an account to delete');
  await visitor.page.getByLabel('Type Harbour Library to confirm').fill('Harbour Library');
  await visitor.press('Delete the account');
  await visitor.page.getByRole('button', { name: 'New account' }).waitFor();
  expect((await operator('GET', `/admin/accounts/${id}`)).status).toBe(404);
  await visitor.go(`#/operator/accounts/${id}`);
  await visitor.sees('Not found');
  await visitor.expectSound('an account that was deleted');
  await visitor.go(`#/operator/audit?${new URLSearchParams({ account: id })}`);
  await visitor.sees('collection.create');
  expect(visitor.faults).toEqual([]);
});

test('a plan is made, changed, kept while an account has it, and deleted', async () => {
  await visitor.operate(ADMIN_TOKEN);
  await visitor.go('#/operator/plans');
  await visitor.page.getByRole('button', { name: 'Change enterprise' }).waitFor();
  await visitor.expectSound('plans');
  await visitor.press('New plan');
  await visitor.page.getByLabel('Name').fill('team');
  await visitor.page.getByLabel('Stored vectors').fill('many');
  await visitor.sees('A whole number, or nothing for no limit.');
  expect(await visitor.page.getByRole('button', { name: 'Store the plan' }).isDisabled()).toBe(true);
  await visitor.expectSound('a plan with a wrong limit');
  await visitor.page.getByLabel('Stored vectors').fill('1234567');
  await visitor.press('Store the plan');
  await visitor.sees('1,234,567');
  const { account } = await createTenant(service, 'team');
  await visitor.press('Change team');
  await visitor.page.getByLabel('Stored vectors').fill('');
  await visitor.press('Store the plan');
  await visitor.page.getByText('1,234,567').waitFor({ state: 'hidden' });
  await visitor.press('Delete team');
  await visitor.page.getByLabel('Type team to confirm').fill('team');
  await visitor.press('Delete the plan');
  await visitor.page.locator('.dialog .notice-bad').waitFor();
  await visitor.expectSound('a plan that an account has');
  await operatorApi(service)('DELETE', `/admin/accounts/${account.id}`);
  await visitor.press('Delete the plan');
  await visitor.page.getByRole('button', { name: 'Change team' }).waitFor({ state: 'hidden' });
});

describe('the overview', () => {
  const figure = (title: string) => visitor.page.locator(`dt:text-is("${title}") + dd .tile-value`).textContent();

  test('shows what the service does now, again and again', async () => {
    const { api } = await createTenant(service, 'enterprise', 'Northwind Search');
    await api('POST', '/collections', { name: 'products', dimensions: 2 });
    await api('POST', '/collections/products/upsert', { records: records(500) });
    await visitor.operate(ADMIN_TOKEN);
    await visitor.sees('Nothing needs attention.');
    await until('queries are counted', async () => {
      for (let at = 0; at < QUERIES; at++) await api('POST', '/collections/products/query', { id: `r${at}` });
      return Number.parseFloat((await figure('Queries')) ?? '') > 0 && /ms/.test((await figure('Slowest 1 %')) ?? '');
    });
    expect(await figure('Memory')).toMatch(/[1-9].* [kM]B/);
    await visitor.expectSound('the overview');
    await until('the lines beside the figures have a course', async () => {
      for (let at = 0; at < QUERIES; at++) await api('POST', '/collections/products/query', { id: `r${at}` });
      await api('POST', '/collections/products/upsert', { records: records(20) });
      const points = `document.querySelector('.tile polyline').getAttribute('points').split(' ').length`;
      return (await visitor.page.evaluate<number>(points)) >= COURSE;
    });
    await visitor.picture('operator', { width: 1160, height: 560 });
  });

  test('reads nothing while it is paused or out of sight, and at once when it is back', async () => {
    let reads = 0;
    visitor.page.on('request', (request) => {
      if (request.url().endsWith('/metrics')) reads++;
    });
    const show = (state: 'hidden' | 'visible') =>
      visitor.page.evaluate(`Object.defineProperty(document, 'visibilityState', { get: () => '${state}', configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await visitor.page.clock.install();
    await visitor.operate(ADMIN_TOKEN);
    await visitor.sees('Last read');
    const goesOn = async (what: string) => {
      const before = reads;
      await until(what, async () => {
        await visitor.page.clock.runFor(6_000);
        return reads > before;
      });
    };
    await goesOn('the page reads again');
    await show('hidden');
    // A read that was under way ends before the count.
    await visitor.page.waitForLoadState('networkidle');
    const hidden = reads;
    await visitor.page.clock.runFor(60_000);
    expect(reads).toBe(hidden);
    await show('visible');
    await until('the page reads at once', () => reads > hidden);
    await visitor.press('Pause');
    await visitor.sees('Paused.');
    await visitor.page.waitForLoadState('networkidle');
    const paused = reads;
    await visitor.page.clock.runFor(60_000);
    expect(reads).toBe(paused);
    await visitor.press('Go on');
    await until('the page goes on at once', () => reads > paused);
    await goesOn('the page goes on');
  });
});

describe('the other tabs', () => {
  test('list collections, nodes, shards and anchors of all accounts', async () => {
    const { account, api } = await createTenant(service, 'enterprise', 'Ada’s experiments');
    await api('POST', '/collections', { name: 'letters', dimensions: 2, shards: 4 });
    await api('POST', '/collections/letters/upsert', { records: records(40) });
    await visitor.operate(ADMIN_TOKEN);
    await visitor.go('#/operator/accounts');
    await visitor.sees('Ada’s experiments');
    await visitor.expectSound('accounts');
    await visitor.picture('accounts', { width: 1160, height: 420 });
    await visitor.go('#/operator/collections');
    await visitor.page.getByRole('link', { name: 'letters' }).waitFor();
    await visitor.expectSound('collections of all accounts');
    await visitor.page.getByRole('link', { name: 'letters' }).click();
    await until('its four shards are listed', async () => (await visitor.page.locator('tbody tr').count()) === 4);
    await visitor.expectSound('shards of a collection');
    await visitor.press(`Move shard 2 of ${account.id}/letters`);
    await visitor.sees('No other node can take the shard');
    await visitor.expectSound('a shard that cannot move');
    await visitor.press('Close');
    await visitor.page.getByLabel('Collection', { exact: true }).fill('no-such-collection');
    await visitor.press('Show');
    await visitor.sees('Not found');
    await visitor.expectSound('shards of a collection that there is not');
    await visitor.go('#/operator/nodes');
    await visitor.sees('This is the only node with shards');
    await visitor.expectSound('nodes');
    await visitor.go('#/operator/anchoring');
    await visitor.sees('Embedded, for development');
    await visitor.page.getByRole('region', { name: 'Roots of all collections' }).waitFor();
    await visitor.expectSound('anchoring');
    await visitor.press('Halted');
    await visitor.sees('No collection is halted.');
    await visitor.go('#/operator/nothing');
    await visitor.sees('There is no such page');
  });

  test('say that no verification ran, and show one that did', async () => {
    await visitor.operate(ADMIN_TOKEN);
    await visitor.go('#/operator/verifications');
    await visitor.sees('No verifications in the last hour');
    await visitor.expectSound('no verifications');
    const { api } = await createTenant(service, 'free', 'verifier');
    await api('POST', '/collections', { name: 'checked', dimensions: 2 });
    await api('POST', '/collections/checked/upsert', { records: records(5) });
    await api('POST', '/collections/checked/verifications');
    await until('the page shows the verdict', async () => {
      await visitor.press('Refresh');
      return (await visitor.page.getByText('Not on a ledger').count()) > 0;
    });
    await visitor.expectSound('verifications');
  });

  test('make a backup, and show how it goes', async () => {
    await visitor.operate(ADMIN_TOKEN);
    await visitor.go('#/operator/backups');
    await visitor.sees('No backups yet');
    await visitor.expectSound('no backups');
    await visitor.press('Start a backup');
    await visitor.page.getByLabel('Name').fill('no/slash');
    await visitor.press('Start');
    await visitor.sees('Not accepted.');
    await visitor.expectSound('a backup with a wrong name');
    await visitor.page.getByLabel('Name').fill('before-upgrade');
    await visitor.press('Start');
    await visitor.sees('before-upgrade');
    await visitor.sees('Complete');
    await visitor.page.getByText('Running', { exact: true }).waitFor({ state: 'hidden' });
    await visitor.expectSound('backups');
  });

  test('say who changed what, the newest first', async () => {
    const operator = operatorApi(service);
    await createTenant(service, 'free', 'audited');
    await operator('PUT', '/admin/plans/no%20name', {});
    await visitor.operate(ADMIN_TOKEN);
    await visitor.go('#/operator/audit');
    await visitor.page.getByRole('region', { name: 'Audit log' }).waitFor();
    await visitor.expectSound('the audit log');
    await visitor.page.locator('tbody tr .button').first().click();
    await visitor.page.getByRole('dialog').getAttribute('open');
    await visitor.expectSound('the entries of a change');
    await visitor.press('Close');
    await visitor.page.getByLabel('Account', { exact: true }).fill('not an id');
    await visitor.press('Show');
    await visitor.sees('Not accepted');
    await visitor.expectSound('the audit log of no account');
  });
});

test('names that try to be markup are text, and what cannot be typed is confirmed with the id', async () => {
  const { account } = await createTenant(service, 'free', TURNED);
  const { api } = await createTenant(service, 'free', MARKUP);
  await api('POST', '/keys', { name: MARKUP });
  await visitor.operate(ADMIN_TOKEN);
  await visitor.go('#/operator/accounts');
  await visitor.sees(MARKUP);
  await visitor.sees('U+202E');
  await visitor.expectSound('accounts with hostile names');
  await visitor.page.getByRole('link', { name: MARKUP }).click();
  await visitor.page.getByRole('button', { name: `Revoke ${MARKUP}` }).waitFor();
  await visitor.expectSound('an account with hostile names');
  expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
  expect(await visitor.page.locator('main img, main script').count()).toBe(0);
  await visitor.go(`#/operator/accounts/${account.id}`);
  await visitor.press('Delete…');
  await visitor.sees('The name has characters that cannot be typed');
  await visitor.page.getByLabel(`Type ${account.id} to confirm`).fill(account.id);
  await visitor.press('Delete the account');
  await visitor.page.getByRole('button', { name: 'New account' }).waitFor();
  await visitor.sees(MARKUP);
  expect(await visitor.page.getByText('U+202E').count()).toBe(0);
});

test('a halted collection is an alert, until the operator accepts its content by its name', async () => {
  const { api } = await createTenant(service, 'enterprise', 'halted');
  const { body } = await api<{ collection: { id: string } }>('POST', '/collections', { name: 'ledger', dimensions: 2 });
  const { id } = body.collection;
  await api('POST', '/collections/ledger/upsert', { records: records(2) });
  const sql = `INSERT INTO contradictions VALUES (:collection, 0, 1, 'shard 0 stores other records than its log says', 'now')`;
  expect(new TamperedRows(service.dataDir, id).log(sql, { collection: id })).toBe(1);
  await api('POST', '/collections/ledger/upsert', { records: records(3) });
  await visitor.operate(ADMIN_TOKEN);
  await visitor.sees(/Anchoring is halted: contradiction in .*\/ledger/);
  await visitor.expectSound('an alert');
  await visitor.picture('operator-halted', { width: 1160, height: 480 });
  await visitor.page.getByRole('link', { name: 'Show anchoring' }).click();
  await visitor.sees('Contradiction');
  await visitor.expectSound('a halted collection');
  await visitor.press('Accept the content…');
  expect(await visitor.page.getByRole('button', { name: 'Accept and anchor' }).isDisabled()).toBe(true);
  await visitor.expectSound('content to accept');
  await visitor.page.getByLabel('Type ledger to confirm').fill('ledger');
  await visitor.press('Accept and anchor');
  await visitor.page.getByText('Anchoring is halted.').waitFor({ state: 'hidden' });
  await visitor.page.getByRole('link', { name: 'Overview' }).click();
  await visitor.sees('Nothing needs attention.');
});

test('a service that is away is said to be, and a token that it no longer takes ends the session', async () => {
  await visitor.operate(ADMIN_TOKEN);
  await visitor.sees('Last read');
  await service.kill('SIGTERM');
  await visitor.sees('These figures are of');
  await visitor.expectSound('figures of a service that is away');
  await service.restart({ PROVEC_ADMIN_TOKEN: OTHER_TOKEN });
  await visitor.sees('Your token is no longer accepted.');
  await visitor.expectSound('a token that is no longer accepted');
  await visitor.enterToken(OTHER_TOKEN);
  await visitor.sees('Last read');
  await service.restart({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });
});
