/** The verifier's page and the one file of it, in a real browser, against nodes of the ledger. */
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { encodeAddress } from '../../client/verify/base58.ts';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { anchoredAt, KEPT_RECORD, type KeptProof, keepProof } from '../support/kept-proof.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import type { SharedService } from '../support/shared-service.ts';
import { TEST_KEY } from '../support/tenant.ts';
import { until } from '../support/until.ts';
import { ConsoleVisitor } from './console-visitor.ts';

const TRANSLATED = { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'content-type' };

let browser: TestBrowser;
let service: ServiceProcess;
let visitor: ConsoleVisitor;
let folder: string;
let ledgerUrl: string;
let authority: string;
let kept: KeptProof;
let exported: string;
let servers: Server[] = [];

const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-verifier-'));
  [browser, service] = await Promise.all([startBrowser(), startProcess()]);
  ledgerUrl = `http://127.0.0.1:${(await readFile(join(service.dataDir, 'ledger/port'), 'utf8')).trim()}`;
  const ledger = { url: ledgerUrl };
  kept = await keepProof({ api: service.api, ledger } as unknown as SharedService, 'kept');
  // The keypair's second half is the address.
  const pair = JSON.parse(await readFile(join(service.dataDir, 'ledger-keypair.json'), 'utf8')) as number[];
  authority = encodeAddress(Uint8Array.from(pair.slice(32)));
  const answer = await fetch(`${service.url}/api/v1/collections/kept/export`, {
    headers: { authorization: `Bearer ${TEST_KEY}` },
  });
  exported = await answer.text();
});
afterAll(async () => {
  await browser.dispose();
  await service.dispose();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  const allowed = () => [ledgerUrl, service.url, ...servers.map(originOf)];
  visitor = new ConsoleVisitor(await browser.open(allowed), () => service.url);
});
afterEach(async () => {
  await visitor.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers = [];
});

/** Starts a node that pages of any origin may ask. */
async function nodeThat(answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    for (const [name, value] of Object.entries(TRANSLATED)) response.setHeader(name, value);
    if (request.method === 'OPTIONS') response.end();
    else answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  servers.push(server);
  return originOf(server);
}

/** A node that passes requests on to the service's ledger, which refuses files. */
const relay = () =>
  nodeThat(async (request, response) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(ledgerUrl, { method: 'POST', headers, body: await text(request) });
    response.end(await answer.text());
  });

async function fileOf(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function openVerifier(): Promise<void> {
  await visitor.page.goto(`${service.url}/console/verify/`);
  await visitor.sees('What to check');
}

async function fill(fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [label, value] of Object.entries(fields))
    await visitor.page.getByLabel(label, { exact: true }).fill(value);
}

const trust = (node = ledgerUrl) => ({ Authority: authority, 'Node of the ledger': node });
const choose = (path: string) => visitor.page.locator('input[type=file]').setInputFiles(path);

describe('a proof', () => {
  test('of an earlier version is present at that version, in the words of the command', async () => {
    await openVerifier();
    await visitor.expectSound('the verifier');
    await fill({ ...trust(), 'Or paste it': JSON.stringify({ proof: kept.proof }) });
    await fill({ 'Collection id': kept.collection.id, Record: JSON.stringify(KEPT_RECORD) });
    await visitor.press('Verify');
    await visitor.sees(`at version 5, anchored ${anchoredAt(kept)}; the collection is now at version 9`);
    await visitor.sees('as expected');
    await visitor.expectSound('a proof that holds');
    await visitor.picture('verifier', { width: 880, height: 860 });
    expect(visitor.faults).toEqual([]);
  });

  test('of absence, and of another record, are told apart', async () => {
    await openVerifier();
    await fill({ ...trust(), 'Or paste it': JSON.stringify(kept.absence) });
    await visitor.press('Verify');
    await visitor.sees('ABSENT');
    await fill({ 'Or paste it': JSON.stringify(kept.proof), 'Record id': 'other' });
    await visitor.press('Verify');
    await visitor.sees('NOT PROVEN');
    await visitor.sees('The proof is about another id. (wrong-content)');
    await visitor.expectSound('a proof that does not hold');
    await visitor.press('A root that I know');
    await fill({ Root: 'x', 'Record id': '' });
    await visitor.press('Verify');
    await visitor.sees('A root is 64 lower-case hex digits.');
    await visitor.expectSound('a root that is none');
    await fill({ Root: kept.proof.merkleRoot });
    await visitor.press('Verify');
    await visitor.sees('not asked: the root was given');
  });

  test('comes from the console without a request or a storage that has it', async () => {
    await visitor.signIn(TEST_KEY);
    await visitor.go('#/collections/kept/browse?record=kept');
    await visitor.press('Prove it here');
    await visitor.sees('Proven: this record is in the collection');
    const verifier = await visitor.opens('give it to the verifier');
    const isGiven = () =>
      verifier.evaluate<boolean>('document.querySelector("textarea")?.value.includes("PV1") ?? false');
    await until('the verifier has the proof', isGiven);
    await verifier.getByLabel('Authority').fill(authority);
    await verifier.getByLabel('Node of the ledger').fill(ledgerUrl);
    await verifier.getByRole('button', { name: 'Verify', exact: true }).click();
    await verifier.getByText('as expected').waitFor();
    expect(verifier.url()).toMatch(/verify\/#from=[0-9a-f-]{36}$/);
    expect(await verifier.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }])')).toBe('[{},{}]');
  });
});

describe('an export', () => {
  test('is complete, or says what is wrong with it', async () => {
    await openVerifier();
    await fill({ ...trust(), 'Collection id': kept.collection.id });
    await choose(await fileOf('export.ndjson', exported));
    await visitor.press('Verify');
    await visitor.sees('COMPLETE');
    await visitor.expectSound('an export that holds');
    await choose(await fileOf('changed.ndjson', exported.replace('"kept"}', '"kept!"}')));
    await visitor.press('Verify');
    await visitor.sees('The records do not give the root. (wrong-root)');
    await choose(await fileOf('cut.ndjson', exported.split('\n').slice(0, 3).join('\n')));
    await visitor.press('Verify');
    await visitor.sees('The export was cut off: it has no end. (malformed)');
  });

  test('of a gigabyte is read with progress, and can be cancelled', async () => {
    const path = await fileOf('huge.ndjson', exported.split('\n')[0]!);
    const file = await open(path, 'a');
    // Lines without content, since a sparse file has one endless line.
    const block = Buffer.alloc(16 * 1024 * 1024, '\n');
    for (let at = 0; at < 64; at++) await file.write(block);
    await file.close();
    await openVerifier();
    await fill(trust());
    await choose(path);
    await visitor.press('Verify');
    await visitor.sees(/MB of 1\.1 GB/);
    await visitor.expectSound('an export that is read');
    await visitor.press('Cancel');
    await visitor.page.getByRole('button', { name: 'Cancel' }).waitFor({ state: 'hidden' });
  });
});

describe('hostile files', () => {
  const MARKUP = '<img src=x onerror="globalThis.wasRun = true">\u202e\0';
  test.each<[string, () => string, RegExp]>([
    ['markup', () => JSON.stringify({ ...kept.proof, collectionId: MARKUP }), /collectionId is not a lower-case UUID/],
    ['an id of markup', () => JSON.stringify({ ...kept.proof, id: MARKUP }), /NOT PROVEN/],
    ['long text', () => JSON.stringify({ ...kept.proof, id: 'x'.repeat(40_000) }), /The id is not of 1 to 512 bytes/],
    ['deep JSON', () => '['.repeat(400_000) + ']'.repeat(400_000), /more than 64 levels/],
    ['no JSON', () => 'proof', /cannot be read as JSON/],
    ['two megabytes', () => ' '.repeat(2 ** 21), /neither a proof/],
    ['a line without end', () => `{"export":${'['.repeat(5 * 2 ** 20)}`, /A line has more than 4194304 characters/],
    ['an unknown field of markup', () => `{"export":{${JSON.stringify(MARKUP)}:1}}`, /has an unknown field/],
  ])('%s', async (name, content, message) => {
    await openVerifier();
    await fill(trust());
    await choose(await fileOf('hostile', content()));
    await visitor.press('Verify');
    await visitor.sees(message);
    await visitor.expectSound(name);
    expect(await visitor.page.evaluate('globalThis.wasRun')).toBeUndefined();
    expect(await visitor.page.evaluate('/[\\u202e\\0]/.test(document.body.innerText)')).toBe(false);
  });
});

describe('hostile nodes', () => {
  test.each<[string, RequestListener, RegExp]>([
    ['never end', (_, response) => void response.write('x'.repeat(300_000)), /more than 262144 bytes/],
    ['redirect', (_, response) => response.writeHead(307, { location: ledgerUrl }).end(), /could not be asked/],
    ['are no JSON', (_, response) => response.end('<html>'), /and no JSON/],
    ['have other types', (_, response) => response.end('{"result":{"value":{"data":7}}}'), /no account in base64/],
    [
      'have errors of markup',
      (_, response) => response.end(JSON.stringify({ error: { message: `<b>\u202e${'long '.repeat(20_000)}` } })),
      /has an error in place of an account/,
    ],
    ['have no account', (_, response) => response.end('{"result":{"value":null}}'), /There is no account/],
  ])('answers that %s', async (name, answer, message) => {
    await openVerifier();
    await fill({ ...trust(await nodeThat(answer)), 'Or paste it': JSON.stringify(kept.proof) });
    await visitor.press('Verify');
    await visitor.sees(message);
    await visitor.expectSound(name);
  });

  test('a node that the policy does not allow is not asked', async () => {
    await openVerifier();
    await fill({ ...trust('http://192.0.2.1:8899'), 'Or paste it': '{}' });
    await visitor.press('Verify');
    await visitor.sees('Give an address that begins with https://');
    await visitor.expectSound('a node that is not allowed');
  });
});

describe('the file', () => {
  test('works from disk, for a proof and an export', async () => {
    const answer = await fetch(`${service.url}/console/verify/provec-verify.html`);
    const path = await fileOf('provec-verify.html', await answer.text());
    await visitor.page.goto(`file://${path}`);
    await visitor.sees('What to check');
    await visitor.expectSound('the file');
    await fill({ ...trust(await relay()), 'Or paste it': JSON.stringify(kept.proof) });
    await visitor.press('Verify');
    await visitor.sees(`at version 5, anchored ${anchoredAt(kept)}; the collection is now at version 9`);
    await visitor.expectSound('a proof that holds, from disk');
    await choose(await fileOf('export.ndjson', exported));
    await visitor.press('Verify');
    await visitor.sees('COMPLETE');
    expect(visitor.faults).toEqual([]);
  });
});
