/** `provec audit`: shows trails, and finds what was changed. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { AuditChain } from '../../cli/audit/audit-chain.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { runCommand } from '../support/command-in-process.ts';
import type { CommandRun } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN, createTenant, type Tenant } from '../support/tenant.ts';

let service: SharedService;
let tenant: Tenant;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService(), mkdtemp(join(tmpdir(), 'provec-audit-'))]);
  tenant = await createTenant(service, 'enterprise', 'audited');
  await tenant.api('POST', '/collections', { name: 'notes', dimensions: 2 });
  await tenant.api('DELETE', '/collections/absent');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const audit = (...args: string[]): Promise<CommandRun> =>
  runCommand(['audit', ...args], {
    PROVEC_URL: service.url,
    PROVEC_KEY: tenant.key.secret,
    PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
  });

test('shows a line for each change, of the key’s account or of another trail', async () => {
  const { code, stdout, stderr } = await audit();
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const who = `by key ${tenant.key.id} from `;
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(new RegExp(`^20\\S+Z  collection.create notes  done  ${who}`)),
    expect.stringMatching(new RegExp(`^20\\S+Z  collection.delete absent  refused COLLECTION_NOT_FOUND  ${who}`)),
    '',
  ]);
  expect((await audit('--account', tenant.account.id)).stdout).toBe(stdout);
  const operators = await audit('--operator', '--limit', '2', '--json');
  expect(operators).toMatchObject({ code: 0, stderr: '' });
  expect(
    operators.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).trail),
  ).toEqual(['operator', 'operator']);
});

test('a saved trail is checked without the service', async () => {
  const { stdout } = await audit('--all', '--json');
  const path = join(folder, 'audit.ndjson');
  await writeFile(path, stdout);
  const checked = await runCommand(['audit', '--check', path]);
  expect(checked).toEqual({ code: 0, stderr: '', stdout: expect.stringMatching(/^4 entries, up to [0-9a-f]{64}\n$/) });

  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const altered: [string, string[]][] = [
    ['The entry does not have the content that its hash is of.', lines.map((line) => line.replace('notes', 'votes'))],
    ['The entry after 1 is missing.', lines.toSpliced(1, 1)],
    ['The entry after 1 is missing.', [lines[0]!, lines[2]!, lines[1]!, lines[3]!]],
    ['The entry does not have the content', lines.map((line) => line.replace(/"hash":"./, '"hash":"x'))],
  ];
  for (const [fault, changed] of altered) {
    await writeFile(path, changed.join('\n'));
    const run = await runCommand(['audit', '--check', path]);
    expect([run.code, run.stdout, run.stderr]).toEqual([1, '', expect.stringContaining(fault)]);
  }
  for (const text of ['', '{"a":1}\n', 'no json\n', '7\n']) {
    await writeFile(path, text);
    expect(await runCommand(['audit', '--check', path])).toMatchObject({ code: 2, stdout: '' });
  }
});

test('a fault that the service reports, or a trail that lost its end, exits with 1', async () => {
  const { stdout } = await audit('--all', '--json');
  const entries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const { trail: _, ...last } = entries.at(-1);
  const head = { seq: last.seq, hash: last.hash };
  const faulty = { ...last, fault: 'Entries 2 to 3 are missing.' };
  for (const page of [
    { entries: [faulty], head },
    { entries: [last], head: { ...head, seq: 3 } },
    { entries: [last], head: { ...head, hash: '0'.repeat(64) } },
  ]) {
    const server = await AnsweringServer.start({ 'GET /admin/audit': page });
    const run = await runCommand(['audit', '--account', tenant.account.id], {
      PROVEC_URL: server.url,
      PROVEC_ADMIN_TOKEN: ADMIN_TOKEN,
    });
    server.close();
    expect(run).toMatchObject({ code: 1, stderr: expect.stringMatching(/^provec: entry 4: /) });
  }
});

test('an entry must continue the one before it', async () => {
  const { stdout } = await audit('--all', '--json');
  const [first, second] = stdout.split('\n').map((line) => (line === '' ? null : JSON.parse(line)));
  const { trail, ...entry } = first;
  const chain = new AuditChain(trail);
  expect(chain.faultOf(entry)).toBeNull();
  const { trail: __, ...next } = second;
  expect(new AuditChain('another').faultOf(next)).toMatch(/content that its hash is of/);
  expect(chain.faultOf(next)).toBeNull();
  expect(chain.faultOfHead({ seq: 2, hash: next.hash })).toBeNull();
  expect(chain.faultOfHead({ seq: 9, hash: next.hash })).toBeNull();
  expect(chain.faultOfHead(undefined)).toMatch(/no longer there/);
});
