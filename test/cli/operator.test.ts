/** The commands of `provec` for operators. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeProgram } from '../../cli/program.ts';
import { DEFAULT_PLANS } from '../../lib/plans.ts';
import { AnsweringServer } from '../support/answering-server.ts';
import { examplesOf } from '../support/command-examples.ts';
import { runCommand } from '../support/command-in-process.ts';
import { type CommandRun, startCommandLine } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { ADMIN_TOKEN, createTenant } from '../support/tenant.ts';

const SECRET = /pv_live_[\w-]{43}/g;

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-operator-'))]);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const operator = (...args: string[]): Promise<CommandRun> =>
  runCommand(args, { PROVEC_URL: service.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });

/** Runs the command with `--json` and returns the document that it prints. */
async function documentOf<T = Record<string, unknown>>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await operator(...args, '--json');
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout) as T;
}

test('an account is created, listed, changed and deleted', async () => {
  const created = await operator('accounts', 'create', 'acme', '--plan', 'free');
  expect(created).toMatchObject({ code: 0, stderr: '' });
  expect(created.stdout.match(SECRET)).toHaveLength(1);
  const { accounts, hasMore } = await documentOf<{ accounts: { id: string; name: string }[]; hasMore: boolean }>(
    ...['accounts', 'list', '--all', '--usage'],
  );
  expect(hasMore).toBe(false);
  const { id } = accounts.find(({ name }) => name === 'acme')!;
  expect(accounts).toContainEqual(expect.objectContaining({ id, plan: 'free', usage: expect.anything() }));
  const first = await operator('accounts', 'list', '--limit', '1');
  expect(first).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^id +name +plan +created_at\n.* default .*\n$/),
    stderr: 'provec: there are more accounts; --all lists all of them\n',
  });
  expect(await documentOf('accounts', 'list', '--limit', '1')).toEqual({
    accounts: [accounts[0]].map(bare),
    hasMore: true,
  });
  expect(await documentOf('accounts', 'set-plan', id, 'business')).toMatchObject({ account: { id, plan: 'business' } });
  const shown = await operator('accounts', 'get', id);
  expect(shown.stdout).toMatch(/^plan +business$/m);
  expect(shown.stdout).toMatch(/^vector_count +0 +5000000$/m);
  const unasked = await operator('accounts', 'delete', id);
  expect(unasked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('it needs --yes') });
  expect(await documentOf('accounts', 'get', id)).toMatchObject({ account: { id } });
  expect(await documentOf('accounts', 'delete', id, '--yes')).toEqual({ deleted: true });
  expect(await operator('accounts', 'get', id)).toMatchObject({ code: 3 });
});
const bare = ({ usage: _, ...account }: object & { usage?: unknown }) => account;

test('a plan is made after another one, changed in one limit, and deleted', async () => {
  const set = (...args: string[]) => operator('plans', 'set', 'cli-plan', ...args);
  expect(await set('--keys', '3')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no plan cli-plan .*--vectors, --writes, .*--anchoring, or --like/),
  });
  expect(await set('--like', 'pro', '--vectors', 'many')).toMatchObject({ code: 2, stdout: '' });
  expect((await set('--like', 'pro', '--vectors', 'none', '--no-anchoring')).stdout).toMatch(
    /^plan +vectors .*\ncli-plan +none +50000 .* false +stored\n$/,
  );
  expect(await documentOf('plans', 'set', 'cli-plan', '--keys', '3')).toEqual({
    plan: { ...DEFAULT_PLANS.pro, name: 'cli-plan', vectors: null, keys: 3, anchoring: false, source: 'stored' },
  });
  expect((await operator('plans', 'list')).stdout).toMatch(/^cli-plan .* stored$/m);
  expect(await documentOf('plans', 'delete', 'cli-plan')).toEqual({ deleted: true });
  expect(await operator('plans', 'delete', 'cli-plan')).toMatchObject({ code: 3 });
});

test('a lost key is replaced while the service runs', async () => {
  const { account, api } = await createTenant(service, 'enterprise', 'forgetful');
  const { key } = await documentOf<{ key: { secret: string; scopes: string[] } }>(
    ...['accounts', 'keys', 'create', account.id, 'found', '--scope', 'read', '--scope', 'manage'],
  );
  expect(key.scopes).toEqual(['read', 'manage']);
  expect(await runCommand(['usage'], { PROVEC_URL: service.url, PROVEC_KEY: key.secret })).toMatchObject({ code: 0 });
  const list = await operator('accounts', 'keys', 'list', account.id);
  expect(list.stdout).toMatch(/ found .*read,manage/);
  expect(list.stdout).not.toMatch(SECRET);
  const { keys } = await documentOf<{ keys: { id: string; name: string }[] }>('accounts', 'keys', 'list', account.id);
  const lost = keys.find(({ name }) => name !== 'found')!;
  expect(await documentOf('accounts', 'keys', 'revoke', account.id, lost.id)).toEqual({ revoked: true });
  expect((await api('GET', '/usage')).status).toBe(401);
});

test('nodes, shards, collections, anchors and the ledger are shown', async () => {
  await service.api('POST', '/collections', { name: 'seen', dimensions: 2 });
  await service.api('POST', '/collections/seen/upsert', { records: [{ id: 'a', values: [1, 2] }] });
  const { shards } = await documentOf<{ shards: { collection: string; shard: string }[] }>('shards', '--all');
  const { collection, shard } = shards.find((each) => each.collection.endsWith('/seen'))!;
  expect(await documentOf('shards', collection)).toEqual({
    shards: [expect.objectContaining({ collection, shard, state: 'open', records: 1 })],
    unreachable: [],
    hasMore: false,
  });
  const [id] = shard.split('.');
  const nodes = await operator('nodes');
  expect(nodes.stdout).toMatch(/^shard node +state .*\n\S+ +serving +\d+ /);
  const { collections } = await documentOf<{ collections: unknown[] }>('accounts', 'collections', '--all');
  expect(collections).toContainEqual(expect.objectContaining({ name: 'seen', vectors: 1, anchor: 'confirmed' }));
  const anchors = await operator('anchors', '--all');
  expect(anchors.stdout).toMatch(new RegExp(`^${collection} +${id} +confirmed +1 +1 +\\d+ s ago$`, 'm'));
  expect(await documentOf('anchors', 'halted')).toEqual({ anchors: [], hasMore: false });
  const ledger = await operator('ledger', collection);
  expect(ledger.stdout).toMatch(new RegExp(`^authority +${service.ledger!.authority}$`, 'm'));
  expect(ledger.stdout).toMatch(new RegExp(`^collection +${id}$`, 'm'));
  const refused = await operator('resume', collection, '--yes');
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringContaining('is not halted') });
  expect(await operator('resume', collection)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
});

describe('on a cluster', () => {
  let server: AnsweringServer;
  beforeAll(async () => {
    server = await AnsweringServer.start({
      'POST /admin/shards/c.0/move': { shard: 'c.0', node: 'to', previousNode: 'from' },
      'POST /admin/nodes/full/drain': { node: 'full', left: 2 },
      'POST /admin/nodes/empty/drain': { node: 'empty', left: 0 },
      'GET /admin/shards': { shards: [], unreachable: [{ node: 'gone', error: 'no answer' }] },
    });
  });
  afterAll(() => server.close());
  const cluster = (...args: string[]) => runCommand(args, { PROVEC_URL: server.url, PROVEC_ADMIN_TOKEN: ADMIN_TOKEN });

  test('move says where the shard was, and drain exits with 1 until the node is empty', async () => {
    expect(await cluster('move', 'c.0', 'to')).toEqual({
      code: 0,
      stdout: 'c.0 is on to, before on from\n',
      stderr: '',
    });
    expect(await cluster('drain', 'full')).toEqual({ code: 1, stdout: 'full holds 2 shards\n', stderr: '' });
    expect(await cluster('drain', 'empty')).toEqual({ code: 0, stdout: 'empty holds no shards\n', stderr: '' });
    expect(server.asked).toHaveLength(3);
    for (const request of server.asked) expect(request).toMatch(new RegExp(` Bearer ${ADMIN_TOKEN}$`));
  });

  test('shards names the nodes that did not answer', async () => {
    expect((await cluster('shards')).stderr).toBe('provec: warning: gone could not answer: no answer\n');
  });
});

describe('the admin token', () => {
  const login = (input: string, ...args: string[]) =>
    startCommandLine(['login', '--url', service.url, ...args], { environment: { HOME: folder }, input }).ended;

  test('is in the profile, beside the key, and only for that service', async () => {
    const profile = join(folder, '.config', 'provec', 'config.json');
    const refused = await login(`not-${ADMIN_TOKEN}`, '--admin');
    expect(refused).toMatchObject({ code: 3, stdout: '', stderr: expect.not.stringContaining(ADMIN_TOKEN) });
    await login(service.key);
    const kept = await login(ADMIN_TOKEN, '--admin');
    expect(kept).toMatchObject({ code: 0, stderr: '', stdout: expect.not.stringContaining(ADMIN_TOKEN) });
    expect(JSON.parse(await readFile(profile, 'utf8'))).toEqual({
      profiles: { default: { url: service.url, apiKey: service.key, adminToken: ADMIN_TOKEN } },
    });
    const withProfile = (...args: string[]) => runCommand(args, { XDG_CONFIG_HOME: join(folder, '.config') });
    expect(await withProfile('nodes')).toMatchObject({ code: 0, stderr: '' });
    expect(await withProfile('usage')).toMatchObject({ code: 0, stderr: '' });
    expect(await withProfile('nodes', '--url', 'http://127.0.0.1:1')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`The admin token of the profile "default" is for ${service.url}.`),
    });
  });

  test('may be in a file; without one, and with a wrong one, the error says so', async () => {
    const file = join(folder, 'token');
    await writeFile(file, `${ADMIN_TOKEN}\n`);
    const url = { PROVEC_URL: service.url };
    expect(await runCommand(['ledger'], { ...url, PROVEC_ADMIN_TOKEN_FILE: file })).toMatchObject({ code: 0 });
    const [none, wrong] = [
      await runCommand(['nodes'], { ...url, PROVEC_KEY: service.key }),
      await runCommand(['nodes'], { ...url, PROVEC_ADMIN_TOKEN: service.key }),
    ];
    expect(none).toEqual({
      code: 2,
      stdout: '',
      stderr: 'provec: There is no admin token. Run provec login --admin, or set PROVEC_ADMIN_TOKEN.\n',
    });
    expect(wrong).toMatchObject({ code: 3, stderr: expect.not.stringContaining(service.key) });
  });
});

test("the examples of the operator's commands work", async () => {
  const { account, api } = await createTenant(service, 'enterprise', 'examples');
  await api('POST', '/collections', { name: 'notes', dimensions: 2 });
  const { key } = await documentOf<{ key: { id: string } }>('accounts', 'keys', 'create', account.id, 'old');
  const values: Record<string, string> = { $ACCOUNT: account.id, $KEY: key.id };
  const program = await makeProgram([
    'accounts',
    'plans',
    'nodes',
    'shards',
    'anchors',
    'verifications',
    'ledger',
    'top',
  ]);
  const isDelete = (line: string) => Number(line.includes(' delete '));
  for (const line of examplesOf(program).toSorted((a, b) => isDelete(a) - isDelete(b))) {
    const words = line
      .replaceAll('"', '')
      .replace(/\$\w+/g, (name) => values[name] ?? name)
      .split(' ');
    // Other tests may have made more than a command lists.
    const stderr = expect.stringMatching(/^(provec: there are more \w+; --all lists all of them\n)?$/);
    expect({ line, ...(await operator(...words.slice(1))) }).toMatchObject({ line, code: 0, stderr });
  }
});
