/** `provec import-from`: plans, whole moves, what is refused, kills, and the manifest. */
import { createHash, createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signatureLine } from '../../cli/manifest/manifest-lines.ts';
import { SigningKey } from '../../cli/manifest/signing-key.ts';
import { rootOfRecords } from '../../client/index.ts';
import { type CommandRun, type RunningCommand, startCommandLine } from '../support/command-line.ts';
import { isThorough } from '../support/effort.ts';
import { invariant } from '../support/invariant.ts';
import { killAgain, recordsRead } from '../support/killed-import.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const RECORDS = Array.from({ length: 1_500 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at, at / 3],
  metadata: { at, text: 'ü'.repeat(40) },
  ...(at % 5 === 0 && { namespace: 'n' }),
}));
const KILLS = isThorough ? 20 : 2;
const TEXT = RECORDS.map((record) => JSON.stringify(record)).join('\n');
const ROOT = rootOfRecords(RECORDS);

/** Passes requests on to a service, and changes the bodies of upserts on the way. */
async function startRelay(
  target: string,
  change: (body: string) => string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const server = createServer(async (request, response) => {
    const body = await text(request);
    const sent = request.url?.endsWith('/upsert') ? change(body) : body;
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const headers = { authorization, ...(type !== '' && { 'content-type': type }) };
    const answer = await fetch(`${target}${request.url}`, {
      method: request.method,
      headers,
      ...(sent !== '' && { body: sent }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, stop: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()) };
}

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-move-'))]);
  await writeFile(join(folder, 'all.ndjson'), TEXT);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function start(args: string[], home = folder): RunningCommand {
  const environment = { PROVEC_URL: service.url, PROVEC_KEY: service.key, XDG_CONFIG_HOME: home };
  return startCommandLine(args, { environment, folder });
}
const provec = (...args: string[]): Promise<CommandRun> => start(args).ended;
const move = (name: string, file: string, ...args: string[]) =>
  provec('import-from', 'ndjson', name, '--from', file, '--json', ...args);
const read = (name: string) => readFile(join(folder, name), 'utf8');
const collectionOf = async (name: string) =>
  (await service.api<{ collection?: { vector_count: number; merkleRoot: string } }>('GET', `/collections/${name}`)).body
    .collection;

/** Changes lines of a manifest and signs it again with the user's key. Returns its name. */
async function signedAnew(name: string, change: (line: string) => string): Promise<string> {
  const key = new SigningKey(createPrivateKey(await read('provec/manifest-key.pem')));
  const lines = (await read(name)).split('\n').slice(0, -2);
  const content = lines.map((line) => `${change(line)}\n`).join('');
  const signature = key.signatureOf(createHash('sha256').update(content).digest());
  await writeFile(join(folder, `${name}.forged`), content + signatureLine(signature));
  return `${name}.forged`;
}

test('a dry run prints the plan and writes nothing; the move creates the collection and signs what it moved', async () => {
  const dry = await provec('import-from', 'ndjson', 'moved', '--from', 'all.ndjson', '--dry-run');
  expect(dry).toMatchObject({ code: 0, stderr: '' });
  expect(dry.stdout).toMatch(/collection moved \(to be created\)/);
  expect(dry.stdout).toMatch(/1,500 records can be moved\nnothing is left out/);
  expect(await collectionOf('moved')).toBeUndefined();
  expect(existsSync(join(folder, 'moved.manifest'))).toBe(false);
  const { code, stdout, stderr } = await move('moved', 'all.ndjson', '--page', '200');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { plan, ...moved } = JSON.parse(stdout);
  expect(plan).toMatchObject({
    source: { kind: 'ndjson' },
    target: { exists: false, dimensions: 3, metric: 'cosine' },
  });
  expect(moved).toMatchObject({ moved: true, count: 1_500, equal: 1_500, otherRecords: 0, merkleRoot: ROOT });
  expect(await collectionOf('moved')).toMatchObject({ vector_count: 1_500, merkleRoot: ROOT });
  expect(existsSync(join(folder, 'moved.manifest.checkpoint'))).toBe(false);
  expect((await stat(join(folder, 'provec/manifest-key.pem'))).mode & 0o777).toBe(0o600);
  const lines = (await read('moved.manifest')).split('\n');
  expect(lines).toHaveLength(1_500 + 4);
  expect(JSON.parse(lines.at(-3)!)).toMatchObject({
    end: { count: 1_500, vectorCount: 1_500, ledgerTx: moved.ledgerTx },
  });
  expect(moved.ledgerTx).toEqual(expect.any(String));
  expect(await move('moved', 'all.ndjson')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('moved.manifest exists'),
  });
});

test('a manifest is checked against its signer, the ledger and the collection', async () => {
  const { url, authority } = service.ledger!;
  const ledger = ['--authority', authority, '--rpc', url];
  await move('checked', 'all.ndjson', '--limit', '300');
  const checked = await provec('verify', 'checked', '--manifest', 'checked.manifest', ...ledger, '--json');
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(checked.stdout)).toMatchObject({
    verified: true,
    count: 300,
    comparedWith: 'ledger',
    isRootOfRecords: true,
    otherRecords: 0,
  });
  // The signer claims that the collection held another record; the ledger counts them.
  const forged = await signedAnew('checked.manifest', (line) => line.replace('"vectorCount":300', '"vectorCount":301'));
  expect(await provec('verify', '--manifest', forged)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('do not give the root: the collection held 1 record besides'),
  });
  expect(await provec('verify', '--manifest', forged, ...ledger)).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('It states 301 records in the collection, and the ledger 300'),
  });
  // A later write moves the ledger on; then the transaction shows the root.
  await service.api('POST', '/collections/checked/upsert', { records: [{ id: 'later', values: [1, 2, 3] }] });
  const later = await provec('verify', 'checked', '--manifest', 'checked.manifest', ...ledger, '--json');
  expect(JSON.parse(later.stdout)).toMatchObject({ verified: true, otherRecords: 1, anchoredAt: expect.any(String) });
  await service.api('POST', '/collections/checked/upsert', { records: [{ id: 'r1', values: [1, 2, 3] }] });
  await service.api('POST', '/collections/checked/delete', { ids: ['r2'] });
  const changed = await provec('verify', 'checked', '--manifest', 'checked.manifest');
  expect(changed).toMatchObject({ code: 1, stderr: '' });
  expect(changed.stdout).toContain('lacks 1 record of it, and has 1 record with other content: "r1"');
  const other = await start(['verify', '--manifest', 'checked.manifest'], join(folder, 'other')).ended;
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('give --signer') });
  const signer = JSON.parse((await read('checked.manifest')).split('\n')[0]).manifest.signer;
  const pinned = await start(['verify', '--manifest', 'checked.manifest', '--signer', signer], join(folder, 'other'))
    .ended;
  expect(pinned).toMatchObject({ code: 0, stdout: expect.stringContaining(`signed by   ${signer}`) });
  const wrong = await provec('verify', '--manifest', 'checked.manifest', '--signer', '0'.repeat(64));
  expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining('(wrong-signer)') });
});

test('a name that no collection can have is refused before the source is read, also by a dry run', async () => {
  for (const name of ['x'.repeat(65), '-x', 'a b', 'größe'])
    expect(
      await provec('import-from', 'ndjson', '--from', 'all.ndjson', '--dry-run', '--manifest', 'm', '--', name),
    ).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('cannot be the name of a collection') });
});

test('what Provec does not have is counted and refused before the start, and left out only if allowed', async () => {
  const rows = [
    { id: 'zero', values: [0, 0] },
    { id: 'short', values: [1] },
    { id: 'none' },
    { id: 'twice', values: [1, 2] },
    { id: 'twice', values: [3, 4] },
    { id: 'taken', values: [1, 2], metadata: { a: 1 }, a: 2 },
    { id: 'round', values: [1, 2], big: 'BIG' },
    { id: 'good', values: [1, 2], tags: [{ a: 1 }] },
  ].map((row) => JSON.stringify(row).replace('"BIG"', '9007199254740993'));
  await writeFile(join(folder, 'odd.ndjson'), `${[rows[3], ...rows.filter((_, at) => at !== 3)].join('\n')}\n`);
  const refused = await provec('import-from', 'ndjson', 'odd', '--from', 'odd.ndjson');
  expect(refused.code).toBe(2);
  for (const issue of [
    'zero-vector',
    'other-dimensions',
    'no-vector',
    'repeated-id',
    'taken-field',
    'rounded-integer',
  ]) {
    expect(refused.stdout).toMatch(new RegExp(`^${issue} +1 `, 'm'));
    expect(refused.stderr).toContain(`--leave-out ${issue}`);
  }
  expect(refused.stdout).toContain('1 record with objects in lists');
  expect(await provec('import-from', 'ndjson', 'odd', '--from', 'odd.ndjson', '--dry-run')).toMatchObject({ code: 1 });
  expect(await collectionOf('odd')).toBeUndefined();
  const unsurveyed = await move('odd', 'odd.ndjson', '--no-survey');
  expect(unsurveyed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('The record "zero" has a vector of zeros'),
  });
  await rm(join(folder, 'odd.manifest.checkpoint'), { force: true });
  const allowed = await move('odd', 'odd.ndjson', '--leave-out', 'all');
  expect(allowed.code).toBe(0);
  const leftOut = {
    'zero-vector': 1,
    'other-dimensions': 1,
    'no-vector': 1,
    'repeated-id': 1,
    'taken-field': 1,
    'rounded-integer': 1,
  };
  expect(JSON.parse(allowed.stdout)).toMatchObject({ moved: true, count: 4, read: 8, leftOut });
  const { body } = await service.api<{ vectors: object }>('POST', '/collections/odd/fetch', {
    ids: ['twice', 'taken', 'good'],
  });
  expect(body.vectors).toMatchObject({
    twice: { values: [1, 2] },
    taken: { metadata: { a: 1 } },
    good: { metadata: { tags: [{ a: 1 }] } },
  });
});

test('an import that is killed again and again continues: no duplicate, no gap, one manifest', async () => {
  const args = [
    'import-from',
    'ndjson',
    'killed',
    '--from',
    'all.ndjson',
    '--page',
    '20',
    '--in-flight',
    '2',
    '--json',
  ];
  const checkpoint = join(folder, 'killed.manifest.checkpoint');
  await killAgain(() => start(args), checkpoint, KILLS);
  const other = await provec('import-from', 'ndjson', 'killed', '--from', 'all.ndjson', '--limit', '9', '--json');
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('is of another import (options)') });
  expect(await recordsRead(checkpoint)).toBeLessThan(RECORDS.length);
  const { code, stdout, stderr } = await start(args).ended;
  expect({ code, stderr }).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/records were moved before; continuing/),
  });
  invariant('a resumed import stores every record once', () =>
    expect(JSON.parse(stdout)).toMatchObject({ moved: true, count: 1_500, vectorCount: 1_500, merkleRoot: ROOT }),
  );
  expect(await provec('verify', 'killed', '--manifest', 'killed.manifest')).toMatchObject({ code: 0 });
});

test('a collection that is not what the source returned exits 1, and nothing is signed', async () => {
  await service.api('POST', '/collections', { name: 'lossy', dimensions: 3 });
  const relay = await startRelay(service.url, (body) => body.replace('"r7"', '"r7x"'));
  try {
    const environment = { PROVEC_URL: relay.url, PROVEC_KEY: service.key, XDG_CONFIG_HOME: folder };
    const args = ['import-from', 'ndjson', 'lossy', '--from', 'all.ndjson', '--limit', '20', '--json'];
    const { code, stdout } = await startCommandLine(args, { environment, folder }).ended;
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ moved: false, missing: 1, otherRecords: 1, manifest: null });
    expect(existsSync(join(folder, 'lossy.manifest'))).toBe(false);
  } finally {
    await relay.stop();
  }
});

test('an export as Parquet has the same root when it is moved in, and a file of pyarrow is read as it is', async () => {
  await Promise.all([
    service.api('POST', '/collections', { name: 'table', dimensions: 3, metric: 'dot' }),
    copyFile(join(import.meta.dirname, '../golden/pyarrow.parquet'), join(folder, 'pyarrow.parquet')),
  ]);
  const odd = {
    id: 'é',
    namespace: 'n',
    values: [0.1, 1e-40, 3e38],
    metadata: { '"': [null, { a: 1e21 }], é: '\u0000' },
  };
  await service.api('POST', '/collections/table/upsert', {
    records: [{ id: odd.id, values: odd.values, metadata: odd.metadata }],
    namespace: 'n',
  });
  await service.api('POST', '/collections/table/upsert', { records: [{ id: 'a', values: [1, 2, 3] }] });
  const { merkleRoot } = (await collectionOf('table'))!;
  expect(await provec('export', 'table', '--to', 'parquet')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs --out'),
  });
  expect(await provec('export', 'table', '--to', 'parquet', '--out', 'table.parquet')).toMatchObject({ code: 0 });
  const again = await provec('import-from', 'parquet', 'tabled', '--from', 'table.parquet', '--json');
  expect(JSON.parse(again.stdout)).toMatchObject({
    moved: true,
    count: 2,
    merkleRoot,
    plan: { target: { metric: 'dot' } },
  });
  const args = [
    '--from',
    'pyarrow.parquet',
    '--id-field',
    'key',
    '--vector-field',
    'embedding',
    '--page',
    '1',
    '--json',
  ];
  const refused = await provec('import-from', 'parquet', 'arrow', ...args);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--leave-out unsupported-value') });
  const { stdout } = await provec('import-from', 'parquet', 'arrow', ...args, '--leave-out', 'all');
  expect(JSON.parse(stdout)).toMatchObject({
    moved: true,
    count: 3,
    leftOut: { 'rounded-integer': 1, 'unsupported-value': 1 },
  });
  const { body } = await service.api<{ vectors: object }>('POST', '/collections/arrow/fetch', { ids: ['1', '2', '3'] });
  const when = '2026-01-02T03:04:05.000Z';
  expect(body.vectors).toEqual({
    1: { id: '1', values: [1, 0.1], metadata: { a: [1, { b: 'é' }], text: 'é 1', when, n: 2 ** 60 } },
    2: { id: '2', values: [3, 4], metadata: { text: 'b', when, n: 2, blob: 'ok' } },
    3: { id: '3', values: [5, 0], metadata: { text: null, when, n: 3, blob: null } },
  });
});
