/** The API page, in a real browser: searching, reading and trying operations. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { freePorts } from '../support/free-ports.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { ADMIN_TOKEN, createTenant, TEST_KEY } from '../support/tenant.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const MARKUP = '<img src=x onerror="globalThis.wasRun = true">';
const LONG = 'long '.repeat(7_000);

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;

beforeAll(async () => {
  const [port] = await freePorts(1);
  [browser, service] = await Promise.all([
    startBrowser(),
    startProcess({ PROVEC_PORT: `${port}`, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN }),
  ]);
  await service.api('POST', '/collections', { name: 'notes', dimensions: 2 });
  const records = [
    { id: 'a', values: [1, 0], metadata: { title: 'Ants' } },
    { id: MARKUP, values: [0, 1], metadata: { [MARKUP]: `${MARKUP}\u202e\u0001` } },
    ...Array.from({ length: 12 }, (_, at) => ({ id: `l${at}`, values: [at + 1, 1], metadata: { text: LONG } })),
  ];
  expect((await service.api('POST', '/collections/notes/upsert', { records })).status).toBe(200);
  visitor = new ConsoleVisitor(await browser.open(), () => service.url);
  await visitor.signIn(TEST_KEY);
});
afterAll(async () => {
  await visitor.close();
  await browser.dispose();
  await service.dispose();
});

async function openOperation(id: string, title: string, document = 'provec'): Promise<void> {
  await visitor.go(`#/api/${document}/${id}`);
  await visitor.page.getByRole('heading', { name: title, exact: true }).waitFor();
}
const answerText = () => visitor.page.locator('[aria-label="Body of the answer"]').textContent();
const fill = (label: string, text: string) => visitor.page.getByLabel(label, { exact: true }).fill(text);

test('operations are searched by path, name and description', async () => {
  await visitor.go('#/api');
  await visitor.sees('Choose an operation');
  await visitor.expectSound('the API');
  await fill('Search', 'facets');
  await visitor.page.getByRole('link', { name: /Count the values of a metadata field/ }).waitFor();
  await fill('Search', 'no-such-thing');
  await visitor.sees(/^0 of \d+ operations/);
  await visitor.expectSound('a search without results');
  await fill('Search', 'count records');
  await visitor.page.getByRole('link', { name: /^Count records/ }).click();
  await visitor.page.getByRole('heading', { name: 'Count records', exact: true }).waitFor();
  await visitor.go('#/api/provec/none');
  await visitor.sees('There is no such operation');
  await visitor.expectSound('no operation');
});

test('a read is sent with the key, which the page never shows', async () => {
  await openOperation('queryVectors', 'Find the most similar records');
  await visitor.sees('Fill in name.');
  await fill('name', 'notes');
  await fill('Body of the request', '{"id": "a", "topK": ');
  await visitor.sees('The body is not JSON yet');
  expect(await visitor.page.getByRole('button', { name: 'Send with my key' }).isDisabled()).toBe(true);
  await fill('Body of the request', '{"id": "a", "topK": 1}');
  await visitor.press('Send with my key');
  await visitor.sees('Ants');
  await visitor.page.locator('.api-answer .badge-good:has-text("200")').waitFor();
  expect(await visitor.page.evaluate<string>('document.documentElement.innerHTML')).not.toContain(TEST_KEY);
  await visitor.sees('$PROVEC_KEY');
  await visitor.expectSound('an answer');
  await visitor.picture('api', { width: 1200, height: 1000 });
  await fill('name', 'none');
  await visitor.press('Send with my key');
  await visitor.sees('COLLECTION_NOT_FOUND');
  await visitor.page.locator('.api-answer .badge-bad:has-text("404")').waitFor();
  await visitor.expectSound('an error as an answer');
});

test('what records contain is text, and a long answer is bounded', async () => {
  await openOperation('listRecords', 'List records in the order of their ids');
  await fill('name', 'notes');
  await fill('Body of the request', '{"limit": 2, "includeMetadata": true}');
  await visitor.press('Send with my key');
  await visitor.sees('U+202E');
  await visitor.expectSound('a hostile answer');
  await fill('Body of the request', '{"includeMetadata": true}');
  await visitor.press('Send with my key');
  await visitor.sees('The answer is longer');
  expect((await answerText())!.length).toBeLessThan(20_000);
  await visitor.expectSound('a long answer');
  expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
  expect(await visitor.page.locator('main img').count()).toBe(0);
});

test('what changes data asks first', async () => {
  await openOperation('upsertVectors', 'Write records; an existing record is replaced as a whole');
  await visitor.sees('Changes data');
  await fill('name', 'notes');
  await fill('Body of the request', '{"records": [{"id": "new", "values": [3, 4]}]}');
  await visitor.press('Send with my key');
  await visitor.sees('This changes data');
  await visitor.expectSound('a change to confirm');
  await visitor.press('Cancel');
  const known = async () =>
    (await service.api<{ vectors: object }>('POST', '/collections/notes/fetch', { ids: ['new'] })).body.vectors;
  expect(await known()).toEqual({});
  await visitor.press('Send with my key');
  await visitor.press('Do it');
  await visitor.page.locator('.api-answer:has-text("merkleRoot")').waitFor();
  expect(Object.keys(await known())).toEqual(['new']);
});

test('Pinecone’s operations take the key in their own header, and the operator’s are not sent', async () => {
  await openOperation('query_vectors', 'Find the most similar vectors', 'pinecone');
  await fill('name', 'notes');
  await fill('Body of the request', '{"id": "a", "topK": 1}');
  await visitor.press('Send with my key');
  await visitor.page.locator('.api-answer .badge-good:has-text("200")').waitFor();
  await visitor.expectSound('an operation of Pinecone');
  await visitor.go('#/api/provec/listNodes');
  await visitor.sees('This needs the operator’s token');
  await visitor.sees('$PROVEC_ADMIN_TOKEN');
  expect(await visitor.page.getByRole('button', { name: 'Send with my key' }).count()).toBe(0);
  await visitor.expectSound('an operation of the operator');
  await openOperation('livez', 'Liveness');
  await visitor.press('Send');
  await visitor.sees('"live"');
});

test('a service that is away is said, and asked again', async () => {
  await visitor.go('#/keys');
  await visitor.page.getByRole('heading', { name: 'Keys', exact: true }).waitFor();
  await service.kill('SIGKILL');
  await visitor.go('#/api');
  await visitor.sees('The service cannot be reached');
  await visitor.expectSound('no document');
  await service.restart();
  await visitor.press('Try again');
  await visitor.sees('Choose an operation');
});

test('a revoked key ends the session here, too', async () => {
  const { api } = await createTenant(service, 'enterprise', 'short');
  const made = await api<{ key: { id: string; secret: string } }>('POST', '/keys', { name: 'short' });
  await visitor.press('Sign out');
  await visitor.enter(made.body.key.secret);
  await openOperation('getUsage', "This month's usage and the plan's limits");
  await api('DELETE', `/keys/${made.body.key.id}`);
  await visitor.press('Send with my key');
  await visitor.sees('Your key is no longer accepted.');
});
