/** The commands of `provec` against a running service. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type CommandRun, startCommandLine } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const LINES = [
  '{"id": "a", "values": [0.1, 0.2, 0.3, 0.4], "metadata": {"text": "hello", "year": 2026}}',
  '{"id": "b", "values": [0.4, 0.3, 0.2, 0.1], "metadata": {"text": "world", "year": 2025}}',
];
const VECTOR = '[0.1, 0.2, 0.3, 0.4]';
const STEERING = 'x\u001b[2J\u009b1A\u202eTNESERP';
const SECRET = /pv_live_[\w-]{43}/g;

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-cli-'))]);
  await writeFile(join(folder, 'notes.ndjson'), LINES.join('\n'));
  await documentOf('collections', 'create', 'notes', '--dimensions', '4');
  const written = await documentOf('upsert', 'notes', 'notes.ndjson');
  expect(written).toMatchObject({ upsertedCount: 2, vectorCount: 2, anchor: { status: 'confirmed' } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs the command with the service's address and key in the environment. */
function provecWith(input: string | undefined, ...args: string[]): Promise<CommandRun> {
  const environment = { PROVEC_URL: service.url, PROVEC_KEY: service.key, XDG_CONFIG_HOME: folder };
  return startCommandLine(args, { environment, input, folder }).ended;
}
const provec = (...args: string[]): Promise<CommandRun> => provecWith(undefined, ...args);

/** Runs the command with `--json` and returns the document that it prints. */
async function documentOf(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await provec(...args, '--json');
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test('query prints a table for people, and the answer of the API for programs', async () => {
  const [table, document, near, fromStdin] = await Promise.all([
    provec('query', 'notes', '--vector', VECTOR, '--filter', '{"year": {"$gte": 2026}}'),
    documentOf('query', 'notes', '--vector', VECTOR, '--top-k', '1', '--include-values', '--no-metadata'),
    documentOf('query', 'notes', '--id', 'b'),
    provecWith(VECTOR, 'query', 'notes', '--vector', '-', '--json'),
  ]);
  expect(table).toEqual({
    code: 0,
    stdout: 'id  score  metadata\na   1      {"text":"hello","year":2026}\n',
    stderr: '',
  });
  expect(document).toEqual({ matches: [{ id: 'a', score: 1, values: [0.1, 0.2, 0.3, 0.4] }] });
  expect(near).toMatchObject({ matches: [{ id: 'b' }, { id: 'a' }] });
  expect(JSON.parse(fromStdin.stdout)).toMatchObject({ matches: [{ id: 'a' }, { id: 'b' }] });
});

test('get, list and count read records; get exits with 1 if one is absent', async () => {
  const [found, absent, table, records, first, count] = await Promise.all([
    documentOf('get', 'notes', 'b'),
    provec('get', 'notes', 'a', STEERING),
    provec('list', 'notes', '--include-metadata', '--page-size', '1'),
    provec('list', 'notes', '--json', '--include-values'),
    documentOf('list', 'notes', '--limit', '1'),
    documentOf('count', 'notes', '--filter', '{"year": 2025}'),
  ]);
  expect(found).toEqual({ vectors: { b: JSON.parse(LINES[1]) } });
  expect(absent).toMatchObject({ code: 1, stdout: expect.stringMatching(/^id +metadata +values\na .*\n$/) });
  expect(absent.stderr).toBe('provec: there is no record "x\\u001b[2J\\u{9b}1A\\u{202e}TNESERP"\n');
  expect(table.stdout.split('\n')).toEqual([
    'id  metadata',
    'a   {"text":"hello","year":2026}',
    'b   {"text":"world","year":2025}',
    '',
  ]);
  expect(records.stdout).toBe('{"id":"a","values":[0.1,0.2,0.3,0.4]}\n{"id":"b","values":[0.4,0.3,0.2,0.1]}\n');
  expect(first).toEqual({ id: 'a' });
  expect(count).toEqual({ count: 1 });
});

test('collections are created with options, described, listed and deleted', async () => {
  const shape = ['--dimensions', '3', '--metric', 'dot', '--shards', '2', '--tag', 'team=search'];
  const created = await documentOf('collections', 'create', 'films', ...shape);
  expect(created).toMatchObject({ collection: { name: 'films', metric: 'dot', shards: 2, tags: { team: 'search' } } });
  const [same, other, again, table, described, unasked] = await Promise.all([
    documentOf('collections', 'create', 'films', '--dimensions', '3', '--if-not-exists'),
    provec('collections', 'create', 'films', '--dimensions', '4', '--if-not-exists'),
    provec('collections', 'create', 'films', '--dimensions', '3', '--json'),
    provec('collections', 'list'),
    documentOf('collections', 'get', 'films'),
    provec('collections', 'delete', 'films'),
  ]);
  expect(same).toMatchObject(created);
  expect(other).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^provec: .* exists with dimensions 3, not 4/),
  });
  expect(again.code).toBe(3);
  const [line, object] = again.stderr.split('\n');
  expect(JSON.parse(object)).toMatchObject({ code: 'COLLECTION_EXISTS', status: 409, exitCode: 3 });
  expect(line).toBe(`provec: ${JSON.parse(object).message}`);
  expect(table.stdout).toMatch(/^name +dimensions +metric .*\n(.*\n)*films +3 +dot /);
  expect(described).toMatchObject({ collection: { name: 'films', vector_count: 0, anchor: { status: 'none' } } });
  expect(unasked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('it needs --yes') });
  expect(await documentOf('collections', 'delete', 'films', '--yes')).toEqual({ deleted: true });
});

describe('a collection for changes', () => {
  beforeAll(async () => {
    await service.api('POST', '/collections', { name: 'changed', dimensions: 2 });
  });

  test('upsert keeps the digits of integers, reports warnings, and names what is refused', async () => {
    const record = '{"id": "one", "values": [1, 2], "metadata": {"n": 9007199254740993, "m": {"x": 1e3}}}';
    await writeFile(join(folder, 'bad.ndjson'), `${LINES[0]}\n${LINES[1]}\n{"id": "c"\n`);
    const [warned, bad, absent, refused] = await Promise.all([
      provecWith(record, 'upsert', 'changed', '--json'),
      provec('upsert', 'changed', 'bad.ndjson'),
      provec('upsert', 'changed', 'absent.json'),
      provecWith('{"id": "c", "values": [1, 2, 3]}', 'upsert', 'changed', '--json'),
    ]);
    expect(warned).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^provec: warning: Provec reads 9007199254740993 as 9007199254740992: .*\n$/),
    });
    expect(JSON.parse(warned.stdout)).toMatchObject({ upsertedCount: 1, vectorCount: 1 });
    expect(bad).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^provec: bad\.ndjson:3 is not JSON/) });
    expect(absent).toMatchObject({ code: 2, stderr: expect.stringContaining('absent.json') });
    expect(refused.code).toBe(3);
    expect(JSON.parse(refused.stderr.split('\n')[1])).toMatchObject({
      code: 'DIMENSION_MISMATCH',
      details: [{ path: 'records[0].values' }],
    });
  });

  test('delete takes ids; a filter or everything needs --yes, and --dry-run only counts', async () => {
    const records = ['d', 'e', 'f'].map((id) => `{"id": "${id}", "values": [1, 2], "metadata": {"old": true}}`);
    await provecWith(records.join('\n'), 'upsert', 'changed', '--namespace', 'n');
    const inN = ['delete', 'changed', '--namespace', 'n'];
    expect(await documentOf(...inN, 'd')).toMatchObject({ deleted: true, deletedCount: 1 });
    const filter = ['--filter', '{"old": true}'];
    const [counted, unasked, both] = await Promise.all([
      documentOf(...inN, ...filter, '--dry-run'),
      provec(...inN, '--all'),
      provec(...inN, 'e', '--all'),
    ]);
    expect(counted).toMatchObject({ deleted: false, deletedCount: 2 });
    expect(unasked).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('it needs --yes') });
    expect(both).toMatchObject({ code: 2, stderr: 'provec: Give one of: ids, --filter, --all.\n' });
    expect(await documentOf(...inN, ...filter, '--yes')).toMatchObject({ deleted: true, deletedCount: 2 });
  });
});

test('control characters are escaped for people, and in JSON without a change of its value', async () => {
  await service.api('POST', '/collections', { name: 'steering', dimensions: 2 });
  const record = { id: STEERING, values: [1, 2], metadata: { [STEERING]: `${STEERING}\n` } };
  await service.api('POST', '/collections/steering/upsert', { records: [record] });
  const [table, list] = await Promise.all([
    provec('list', 'steering', '--include-metadata'),
    provec('list', 'steering', '--include-metadata', '--json'),
  ]);
  for (const { stdout } of [table, list]) expect(stdout).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u);
  expect(JSON.parse(list.stdout)).toEqual({ id: record.id, metadata: record.metadata });
});

test('keys are created, listed and revoked, and only a new one is printed', async () => {
  const { key } = (await documentOf('keys', 'create', 'reader', '--scope', 'read', '--scope', 'write')) as {
    key: { id: string; secret: string };
  };
  expect(key).toMatchObject({ name: 'reader', scopes: ['read', 'write'], secret: expect.stringMatching(SECRET) });
  const [list, usage, table] = await Promise.all([provec('keys', 'list'), documentOf('usage'), provec('usage')]);
  expect(list.stdout).toContain(`${key.id}  reader`);
  expect(list.stdout).not.toMatch(SECRET);
  expect(usage).toMatchObject({ plan: 'enterprise', usage: { key_count: 2 }, limits: { key_count: 10_000 } });
  expect(table.stdout).toMatch(/^key_count +2 +10000$/m);
  expect(await documentOf('keys', 'revoke', key.id)).toEqual({ revoked: true });
  expect(await provec('keys', 'revoke', key.id)).toMatchObject({ code: 3 });
});

describe('verify', () => {
  test('asks the service, and exits with 1 unless the ledger holds the root', async () => {
    await service.api('POST', '/collections', { name: 'unwritten', dimensions: 2 });
    const [verified, table, unwritten] = await Promise.all([
      documentOf('verify', 'notes'),
      provec('verify', 'notes'),
      provec('verify', 'unwritten'),
    ]);
    expect(verified).toMatchObject({ verified: true, state: 'match', vectorCount: 2 });
    expect(table).toMatchObject({ code: 0, stdout: expect.stringMatching(/^VERIFIED\nstate +match\n/) });
    expect(unwritten).toMatchObject({ code: 1, stdout: expect.stringMatching(/^NOT VERIFIED {2}/), stderr: '' });
  });

  test('checks a kept proof; one changed byte is refused', async () => {
    expect(await provec('prove', 'notes', 'a', '--out', 'proof.json')).toEqual({ code: 0, stdout: '', stderr: '' });
    const text = await readFile(join(folder, 'proof.json'), 'utf8');
    expect((await provec('prove', 'notes', 'a')).stdout).toBe(text);
    const root = /"merkleRoot":"(\w{64})"/.exec(text)![1];
    await writeFile(join(folder, 'forged.json'), text.replace(root.slice(0, 2), root[0] === '0' ? '11' : '00'));
    const trust = ['--authority', service.ledger!.authority, '--rpc', service.ledger!.url];
    const [held, shown, forged, other, unreachable] = await Promise.all([
      documentOf('verify', '--proof', 'proof.json', ...trust),
      provec('verify', '--proof', 'proof.json', '--root', root, '--id', 'a', '--present'),
      provec('verify', '--proof', 'forged.json', ...trust, '--json'),
      provec('verify', '--proof', 'proof.json', '--root', root, '--id', 'b'),
      provec(
        'verify',
        '--proof',
        'proof.json',
        '--authority',
        service.ledger!.authority,
        '--rpc',
        'http://127.0.0.1:1',
      ),
    ]);
    expect(held).toEqual({ verified: true, outcome: 'present' });
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^PRESENT {2}"a" is in the collection /) });
    expect(forged).toMatchObject({ code: 1, stderr: '' });
    expect(JSON.parse(forged.stdout)).toMatchObject({ verified: false, outcome: null, reason: 'wrong-root' });
    expect(other).toMatchObject({ code: 1, stdout: expect.stringMatching(/^NOT PROVEN {2}.*\(wrong-content\)\n$/) });
    expect(unreachable).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('could not be asked') });
  });

  test('checks a kept export; one changed byte is refused', async () => {
    const exported = await documentOf('export', 'notes', '--out', 'kept.ndjson');
    const text = await readFile(join(folder, 'kept.ndjson'), 'utf8');
    await writeFile(join(folder, 'changed.ndjson'), text.replace('hello', 'hallo'));
    await writeFile(join(folder, 'short.ndjson'), text.slice(0, -20));
    const { authority, url } = service.ledger!;
    const trust = ['--authority', authority, '--rpc', url];
    const [alone, anchored, changed, short, other, mixed] = await Promise.all([
      documentOf('verify', '--export', 'kept.ndjson'),
      documentOf('verify', '--export', 'kept.ndjson', ...trust, '--collection', `${exported.collectionId}`),
      provec('verify', '--export', 'changed.ndjson'),
      provec('verify', '--export', 'short.ndjson'),
      provec('verify', '--export', 'kept.ndjson', '--root', 'a'.repeat(64)),
      provec('verify', '--export', 'kept.ndjson', '--transaction', 'x'),
    ]);
    const { merkleRoot } = exported;
    expect(alone).toMatchObject({ verified: true, comparedWith: null, vectorCount: 2, merkleRoot });
    expect(anchored).toMatchObject({ verified: true, comparedWith: 'ledger', merkleRoot });
    for (const run of [changed, short, other])
      expect(run).toMatchObject({ code: 1, stdout: expect.stringMatching(/^NOT VERIFIED {2}.*\n$/), stderr: '' });
    expect(mixed).toMatchObject({ code: 2, stderr: expect.stringContaining('--transaction goes with --proof.') });
  });
});
