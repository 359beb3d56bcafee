/** Imports and exports of `provec`: whole files, refused lines, and imports that are killed. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rootOfRecords } from '../../client/index.ts';
import { runCommand } from '../support/command-in-process.ts';
import { type CommandRun, type RunningCommand, startCommandLine } from '../support/command-line.ts';
import { invariant } from '../support/invariant.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { until } from '../support/until.ts';

/** More than the command sends at once with SMALL. */
const RECORDS = Array.from({ length: 3_000 }, (_, at) => ({
  id: `r${at}`,
  values: [1, at],
  metadata: { at, text: 'x'.repeat(400) },
  ...(at % 5 === 0 && { namespace: 'n' }),
}));
const SMALL = ['--batch-mib', '1'];
const TEXT = RECORDS.map((record) => JSON.stringify(record)).join('\n');
const ROOT = rootOfRecords(RECORDS);

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService(), mkdtemp(join(tmpdir(), 'provec-import-'))]);
  await writeFile(join(folder, 'all.ndjson'), TEXT);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function start(args: string[], input?: string, url = service.url): RunningCommand {
  const environment = { PROVEC_URL: url, PROVEC_KEY: service.key, XDG_CONFIG_HOME: folder };
  return startCommandLine(args, { environment, input, folder });
}
const provec = (...args: string[]): Promise<CommandRun> => start(args).ended;
const create = (name: string, dimensions = 2) => service.api('POST', '/collections', { name, dimensions });
const stateOf = async (name: string) =>
  (await service.api<{ collection: { vector_count: number; merkleRoot: string } }>('GET', `/collections/${name}`)).body
    .collection;
const writes = async () =>
  (await service.api<{ usage: { write_count: number } }>('GET', '/usage')).body.usage.write_count;

test('an import in several parts, its export, and the import of that have one root', async () => {
  await Promise.all([create('whole'), create('copied'), create('other', 3)]);
  const imported = await provec('import', 'whole', 'all.ndjson', ...SMALL, '--json');
  expect(imported).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(imported.stdout)).toMatchObject({ importedCount: 3_000, vectorCount: 3_000, merkleRoot: ROOT });
  const [toFile, toStdout, records] = await Promise.all([
    provec('export', 'whole', '--out', 'kept.ndjson', '--json'),
    provec('export', 'whole'),
    provec('export', 'whole', '--records-only'),
  ]);
  expect(JSON.parse(toFile.stdout)).toMatchObject({ file: 'kept.ndjson', vectorCount: 3_000, merkleRoot: ROOT });
  const kept = await readFile(join(folder, 'kept.ndjson'), 'utf8');
  expect(toStdout).toEqual({ code: 0, stdout: kept, stderr: '' });
  const direct = await fetch(`${service.url}/api/v1/collections/whole/export`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  expect(kept).toBe(await direct.text());
  expect(records.stdout).toBe(`${kept.split('\n').slice(1, -2).join('\n')}\n`);
  const [again, refused] = await Promise.all([
    start(['import', 'copied', ...SMALL, '--json'], kept).ended,
    provec('import', 'other', 'kept.ndjson'),
  ]);
  expect(JSON.parse(again.stdout)).toMatchObject({ importedCount: 3_000, merkleRoot: ROOT });
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('line 1.export.dimensions must be 3') });
  expect(await stateOf('other')).toMatchObject({ vector_count: 0 });
});

test('an error names the line of the file and how many records are stored', async () => {
  await Promise.all([create('refusing'), create('cut'), create('short')]);
  const lines = TEXT.split('\n');
  const head = JSON.stringify({
    export: { collectionId: 'c', name: 'n', dimensions: 2, metric: 'cosine', merkleRoot: ROOT, vectorCount: 2 },
  });
  const end = JSON.stringify({ end: { count: 2, merkleRoot: ROOT } });
  await Promise.all([
    writeFile(join(folder, 'bad.ndjson'), lines.with(2_700, '{"id":"x","values":[1]}').join('\n')),
    writeFile(join(folder, 'cut.ndjson'), [head, lines[1]].join('\n')),
    writeFile(join(folder, 'short.ndjson'), [head, lines[1], end, ''].join('\n')),
  ]);
  const [bad, cut, short] = await Promise.all([
    provec('import', 'refusing', 'bad.ndjson', ...SMALL, '--json'),
    provec('import', 'cut', 'cut.ndjson'),
    provec('import', 'short', 'short.ndjson'),
  ]);
  const { vector_count: stored } = await stateOf('refusing');
  expect(stored).toBeGreaterThan(2_000);
  expect(bad.code).toBe(3);
  const [line, object] = bad.stderr.split('\n');
  const end1 = `${stored.toLocaleString('en')} records were stored before.`;
  expect(line).toMatch(/^provec: bad\.ndjson: line 2701\.values has 1 number/);
  expect(line.endsWith(end1)).toBe(true);
  expect(JSON.parse(object)).toMatchObject({ storedCount: stored, details: [{ path: 'line 2701.values' }] });
  expect(cut).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('it has no last line. 1 record was stored.'),
  });
  expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining('should have 2 records') });
});

test('--namespace is for the records that name none, and changes nothing else', async () => {
  await create('spaces');
  const name = 'ä "b"';
  const lines = [
    '\ufeff{"id":"none","values":[1,2],"metadata":{"namespace":"text","é":"\\u00e9"}}',
    '',
    '  {"values":[1,2.50],"id":"own","namespace":"m"}\r',
    '{"id":"escaped","values":[1,2],"\\u006eamespace":"m"}',
    '{"id":"last","values":[1,2]}',
  ];
  const file = join(folder, 'spaces.ndjson');
  await writeFile(file, lines.join('\n'));
  const environment = { PROVEC_URL: service.url, PROVEC_KEY: service.key };
  const checkpoint = join(folder, 'spaces.checkpoint');
  const args = ['import', 'spaces', file, '--namespace', name, '--checkpoint', checkpoint];
  expect(await runCommand(args, environment)).toMatchObject({ code: 0, stderr: '' });
  const { stdout } = await runCommand(
    ['list', 'spaces', '--all-namespaces', '--include-metadata', '--json'],
    environment,
  );
  const records = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: string });
  expect(records).toHaveLength(4);
  expect(records).toEqual(
    expect.arrayContaining([
      { id: 'none', namespace: name, metadata: { namespace: 'text', é: 'é' } },
      { id: 'own', namespace: 'm', metadata: {} },
      { id: 'escaped', namespace: 'm', metadata: {} },
      { id: 'last', namespace: name, metadata: {} },
    ]),
  );
  const { size: bytes, mtime } = await stat(file);
  const { id: collectionId } = (await service.api<{ collection: { id: string } }>('GET', '/collections/spaces')).body
    .collection;
  const state = { line: 1, byte: 0, records: 0, hasHead: false };
  const subject = { collectionId, namespace: 'other', bytes, modifiedAt: mtime.toISOString() };
  await writeFile(checkpoint, JSON.stringify({ subject, state }));
  expect(await runCommand(args, environment)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('(namespace)'),
  });
});

test('a killed import continues at its checkpoint: no gap, and nothing is imported anew', async () => {
  await create('resumed');
  const before = await writes();
  const args = ['import', 'resumed', 'all.ndjson', ...SMALL, '--checkpoint', 'checkpoint', '--json'];
  const killed = start(args);
  await until('the first part is stored', () => existsSync(join(folder, 'checkpoint')));
  killed.child.kill('SIGKILL');
  await killed.ended;
  const { state } = JSON.parse(await readFile(join(folder, 'checkpoint'), 'utf8'));
  expect(state.line).toBe(state.records + 1);
  const other = await provec('import', 'whole', 'all.ndjson', '--checkpoint', 'checkpoint');
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('is of another import (collectionId)') });
  const { code, stdout } = await start(args).ended;
  expect(code).toBe(0);
  invariant('a resumed import stores every record', () =>
    expect(JSON.parse(stdout)).toMatchObject({ importedCount: 3_000, merkleRoot: ROOT }),
  );
  // The second part may have been written twice.
  expect(await writes()).toBeLessThanOrEqual(before + 3_000 + (3_000 - state.records));
  expect(existsSync(join(folder, 'checkpoint'))).toBe(false);
});

test('an export that breaks off exits with 4, and leaves no file', async () => {
  const head = { collectionId: 'c', name: 'n', dimensions: 2, metric: 'cosine', version: 1, merkleRoot: ROOT };
  const text = `${JSON.stringify({ export: { ...head, vectorCount: 2 } })}\n{"id":"a","values":[1,2]}\n`;
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(text);
    if (request.url?.includes('ended')) response.end();
    else response.socket?.destroySoon();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const runs = await Promise.all(
    ['ended', 'broken'].map((name) => start(['export', name, '--out', `${name}.ndjson`], undefined, url).ended),
  );
  server.close();
  for (const run of runs)
    expect(run).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('cut off') });
  expect((await readdir(folder)).filter((name) => /ended|broken|part/.test(name))).toEqual([]);
});
