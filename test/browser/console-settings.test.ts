/** The settings of a collection in the console: what it shows, and what each change does. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';

interface Detail {
  collection: { deletionProtection: boolean; tags?: Record<string, string> };
}

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  [browser, service] = await Promise.all([startBrowser(), startProcess({ PROVEC_ADMIN_TOKEN: ADMIN_TOKEN })]);
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
});
beforeEach(async () => {
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
});
afterEach(() => visitor.close());

/** Signs in as a new account with two collections, and opens the settings of one. */
async function openSettings(name: string, scopes?: readonly string[]) {
  const { api, key } = await createTenant(service, 'free', name);
  for (const collection of ['notes', 'notes-v2'])
    expect((await api('POST', '/collections', { name: collection, dimensions: 3 })).status).toBe(201);
  const made = await api<{ key: { secret: string } }>('POST', '/keys', { name: 'made', scopes });
  await visitor.signIn(scopes === undefined ? key.secret : made.body.key.secret);
  return { api, show: () => visitor.go('#/collections/notes/settings') };
}

describe('aliases', () => {
  test('are made, pointed elsewhere, pointed back, and deleted once the name was typed', async () => {
    const { api, show } = await openSettings('aliases');
    const targetOf = async () => (await api<{ collection?: string }>('GET', '/aliases/live')).body.collection;
    await show();
    await visitor.sees('No alias points to this collection.');
    await visitor.expectSound('settings of a new collection');
    await visitor.press('New alias');
    await visitor.page.getByLabel('Alias', { exact: true }).fill('notes-v2');
    await visitor.press('Create');
    await visitor.page
      .getByText(/notes-v2.*(exists|collection)/)
      .first()
      .waitFor();
    await visitor.expectSound('an alias with the name of a collection');
    await visitor.page.getByLabel('Alias', { exact: true }).fill('live');
    await visitor.press('Create');
    await visitor.page.getByRole('button', { name: 'Delete live' }).waitFor();
    expect(await targetOf()).toBe('notes');
    await visitor.press('Point live elsewhere');
    await visitor.page.getByLabel('Collection', { exact: true }).fill('notes-v2');
    await visitor.expectSound('an alias to point elsewhere');
    await visitor.press('Point it there');
    await visitor.sees('No alias points to this collection.');
    expect(await targetOf()).toBe('notes-v2');
    await visitor.press('New alias');
    await visitor.page.getByLabel('Alias', { exact: true }).fill('live');
    await visitor.sees('This alias points to');
    await visitor.expectSound('an alias that points elsewhere');
    await visitor.press('Point it here');
    await visitor.press('Delete live');
    expect(await visitor.page.getByRole('button', { name: 'Delete the alias' }).isDisabled()).toBe(true);
    await visitor.expectSound('an alias to delete');
    await visitor.page.getByLabel('Type live to confirm').fill('live');
    await visitor.press('Delete the alias');
    await visitor.sees('No alias points to this collection.');
    expect((await api('GET', '/aliases/live')).status).toBe(404);
  });
});

describe('tags and protection', () => {
  test('are changed, and a tag that tries to be markup is text', async () => {
    const { api, show } = await openSettings('tags');
    const detail = async () => (await api<Detail>('GET', '/collections/notes')).body.collection;
    await show();
    await visitor.sees('No tags yet.');
    for (const [tag, text] of [
      ['team', 'search'],
      ['constructor', MARKUP],
      ['turned', 'invoice\u202efdp.exe'],
    ] as const) {
      await visitor.page.getByLabel('Tag', { exact: true }).fill(tag);
      await visitor.page.getByLabel('Text', { exact: true }).fill(text);
      await visitor.press('Set the tag');
      await visitor.page.getByRole('button', { name: `Remove ${tag}` }).waitFor();
    }
    await visitor.sees('U+202E');
    await visitor.press('Switch on protection');
    await visitor.page.getByRole('button', { name: 'Switch off protection' }).waitFor();
    expect(await detail()).toMatchObject({ deletionProtection: true, tags: { team: 'search' } });
    expect(Object.keys((await detail()).tags ?? {})).toHaveLength(3);
    await visitor.expectSound('settings that were changed');
    expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
    await visitor.press('Delete…');
    await visitor.sees('Its settings change that.');
    await visitor.page.getByLabel('Type notes to confirm').fill('notes');
    expect(await visitor.page.getByRole('button', { name: 'Delete the collection' }).isDisabled()).toBe(true);
    await visitor.expectSound('a protected collection to delete');
    await visitor.press('Cancel');
    await visitor.press('Switch off protection');
    await visitor.page.getByRole('button', { name: 'Switch on protection' }).waitFor();
    await visitor.press('Remove team');
    await until('the tag is gone', async () => !('team' in ((await detail()).tags ?? {})));
  });

  test('that the service refuses stay as they were, with the reason', async () => {
    const { show } = await openSettings('refused');
    await show();
    await visitor.page.getByLabel('Tag', { exact: true }).fill('team');
    await visitor.page.getByLabel('Text', { exact: true }).fill('x'.repeat(121));
    await visitor.press('Set the tag');
    await visitor.sees('Not accepted.');
    await visitor.expectSound('a tag that is too long');
    await visitor.page.getByLabel('Tag', { exact: true }).fill('__proto__');
    await visitor.page.getByLabel('Text', { exact: true }).fill('x');
    await visitor.press('Set the tag');
    await visitor.sees('"__proto__" key');
    expect(await visitor.page.getByText('No tags yet.').count()).toBe(1);
  });
});

test('a key that may only read sees the settings, and no button that changes them', async () => {
  const { api, show } = await openSettings('reader', ['read']);
  await api('PUT', '/aliases/live', { collection: 'notes' });
  await api('PATCH', '/collections/notes', { tags: { team: 'search' } });
  await show();
  await visitor.sees('This key may look at the settings, and not change them.');
  await visitor.sees('Decided at its creation');
  await visitor.page.locator('[aria-label="Aliases"] code').first().waitFor();
  const buttons = '[...document.querySelectorAll("main button")].map((one) => one.getAttribute("aria-label"))';
  expect(await visitor.page.evaluate(buttons)).toEqual(['Copy the id']);
  await visitor.expectSound('settings for a key that may only read');
});

test('the page shows what the collection is, and the limits of the plan', async () => {
  const { api, show } = await openSettings('shown');
  await api('PUT', '/aliases/live', { collection: 'notes' });
  await api('PUT', '/aliases/search', { collection: 'notes' });
  await api('PATCH', '/collections/notes', { tags: { team: 'search', owner: 'Ada' } });
  await show();
  await visitor.seesFact('Metric', 'Cosine');
  await visitor.sees('Stored vectors');
  await visitor.page.getByRole('button', { name: 'Delete search' }).waitFor();
  await visitor.picture('settings', { width: 1000, height: 660, to: 'Aliases' });
  await visitor.page.getByRole('link', { name: 'All usage' }).click();
  await visitor.page.getByRole('heading', { name: 'Usage', exact: true }).waitFor();
});
