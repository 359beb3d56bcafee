import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { CollectionDetail, RecordProof } from '../../contracts/actions/collections.ts';
import { askLedger } from '../support/ledger-account.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

const VERIFIER = join(import.meta.dirname, '../../client/cli/provec-verify.ts');
const RECORD = { id: 'a/ü🧭', values: [0.25, -1], metadata: { text: 'kept' } };
const OTHER = '11111111-2222-4333-8444-555555555555';

let service: SharedService;
let folder: string;
let collection: CollectionDetail;
let proof: RecordProof;
/** Paths of the files that `keep` wrote, by name. */
const files: Record<string, string> = {};

async function keep(name: string, content: unknown): Promise<void> {
  files[name] = join(folder, `${name}.json`);
  const isRaw = typeof content === 'string' || Buffer.isBuffer(content);
  await writeFile(files[name], isRaw ? content : JSON.stringify(content));
}

/** Runs the verifier; `{name}` in an argument becomes the path of the file kept under that name. */
function verify(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const real = args.map((arg) => files[arg.slice(1, -1)] ?? arg);
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', VERIFIER, ...real],
      (_, stdout, stderr) => resolve({ code: child.exitCode!, stdout, stderr }),
    );
  });
}

const getProof = async (id: string) =>
  (await service.api<{ proof: RecordProof }>('GET', `/collections/kept/proof?id=${encodeURIComponent(id)}`)).body;

beforeAll(async () => {
  service = await shareService('anchored');
  folder = await mkdtemp(join(tmpdir(), 'provec-verify-'));
  await service.api('POST', '/collections', { name: 'kept', dimensions: 2, shards: 4 });
  const others = Array.from({ length: 40 }, (_, at) => ({ id: `r${at}`, values: [1, at] }));
  await service.api('POST', '/collections/kept/upsert', { records: [RECORD, ...others] });
  ({ collection } = (await service.api<{ collection: CollectionDetail }>('GET', '/collections/kept')).body);
  const answer = await getProof(RECORD.id);
  ({ proof } = answer);
  await keep('proof', answer);
  await keep('bare', proof);
  await keep('absent', await getProof('absent'));
  await keep('record', RECORD);
  await keep('other-record', { ...RECORD, values: [0.25, -1.5] });
  const { ledgerAddress } = collection.anchor;
  await keep('account', {
    jsonrpc: '2.0',
    result: await askLedger(service, 'getAccountInfo', [ledgerAddress, { encoding: 'base64' }]),
  });
  await keep('no-account', { jsonrpc: '2.0', result: { context: { slot: 1 }, value: null } });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const pinned = () => ['--authority', service.ledger!.authority];

describe('a valid proof', () => {
  test('by the ledger: what was proved, of which root and account', async () => {
    expect(await verify('{proof}', ...pinned(), '--rpc', service.ledger!.url)).toEqual({
      code: 0,
      stdout: [
        `PRESENT  "a/ü🧭" is in the collection ${collection.id} (as the proof names it)`,
        '  content    not compared: no record was given',
        `  root       ${collection.merkleRoot}`,
        `  version    ${collection.version}, of 41 vectors`,
        `  ledger     ${collection.anchor.ledgerAddress}, written by ${service.ledger!.authority}`,
        '',
      ].join('\n'),
      stderr: '',
    });
  });

  test('by a kept account, with everything pinned, without a request', async () => {
    const pins = ['--collection', collection.id, '--id', RECORD.id, '--record', '{record}'];
    const { code, stdout } = await verify('{bare}', ...pinned(), '--account', '{account}', ...pins);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('content    as expected\n') });
    expect(stdout).not.toContain('as the proof names it');
  });

  test('of absence', async () => {
    const { code, stdout } = await verify('{absent}', ...pinned(), '--account', '{account}');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^ABSENT {2}"absent" is not in the coll/),
    });
  });

  test.each([
    [{ values: RECORD.values }, 'values as expected; metadata not compared'],
    [{ metadata: RECORD.metadata }, 'metadata as expected; values not compared'],
    [{ id: RECORD.id }, 'not compared: no record was given'],
  ])('what was compared of its content, given %j', async (record, said) => {
    await keep('part', record);
    const { code, stdout } = await verify('{proof}', '--root', proof.merkleRoot, '--record', '{part}', '--present');
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`content    ${said}\n`) });
  });

  test('of metadata with escaped keys', async () => {
    const record = { id: 'r', values: [1, 1], metadata: { first: { '!': 1, '\\': 0 }, second: { '!': 1, '"': 2 } } };
    await service.api('POST', '/collections', { name: 'escaped', dimensions: 2 });
    await service.api('POST', '/collections/escaped/upsert', { records: [record] });
    const { body } = await service.api<{ proof: RecordProof }>('GET', '/collections/escaped/proof?id=r');
    await keep('escaped', body);
    await keep('escaped-record', record);
    const { stdout } = await verify(
      ...['{escaped}', '--root', body.proof.merkleRoot, '--record', '{escaped-record}', '--present'],
    );
    expect(stdout).toContain('  content    as expected\n');
  });

  test('of an id that would overwrite the verdict, shown escaped', async () => {
    await keep('steering', await getProof('x\u001b[2J\u009b1A\u202eTNESERP'));
    const { code, stdout } = await verify('{steering}', '--root', proof.merkleRoot, '--absent');
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(
        String.raw`ABSENT  "x\u001b[2J\u{9b}1A\u{202e}TNESERP" is not in the collection ${collection.id} `,
      ),
    });
  });

  test('by a given root', async () => {
    const { code, stdout } = await verify('{proof}', '--root', collection.merkleRoot);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('not asked: the root was given') });
  });

  test('by a root, the collection is the one that the proof states, even if one was given', async () => {
    const { code, stdout } = await verify('{proof}', '--root', collection.merkleRoot, '--collection', collection.id);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`is in the collection ${collection.id} (as the proof names it)\n`),
    });
  });
});

test('an invalid proof is not proven, in one line that says why', async () => {
  const ledger = [...pinned(), '--account', '{account}'];
  await keep('forged', { proof: { ...proof, siblings: proof.siblings.with(0, 'a'.repeat(64)) } });
  await keep('typed', { proof: { ...proof, siblings: proof.siblings.map((hash) => ({ type: 'inner', hash })) } });
  await keep('older', { proof: { ...proof, version: proof.version - 1, ledgerTx: null } });
  await keep('newer', { proof: { ...proof, version: proof.version + 1, ledgerTx: null } });
  await keep('unnamed', { proof: { ...proof, ledgerTx: null } });
  await keep('other-cut', { proof: { ...proof, merkleRoot: 'b'.repeat(64), ledgerTx: undefined } });
  await keep('steering', { proof: { ...proof, collectionId: `${collection.id}\nPRESENT` } });
  const cases: [RegExp, string[]][] = [
    [/collectionId is not a lower-case UUID\. \(malformed\)/, ['{steering}', '--root', proof.merkleRoot]],
    [/The record is present\. \(wrong-content\)/, ['{proof}', ...ledger, '--absent']],
    [/The record is absent\. \(wrong-content\)/, ['{absent}', ...ledger, '--present']],
    [/There is no record of that id\. \(wrong-content\)/, ['{absent}', ...ledger, '--record', '{content}']],
    [/does not lead to the root\. \(wrong-root\)/, ['{forged}', ...ledger]],
    [/not 64 lower-case hex digits\. \(malformed\)/, ['{typed}', ...ledger]],
    [
      /holds version \d+, and the proof, of version \d+, names no transaction: .* was pending .*\. Fetch it again\. \(wrong-root\)/,
      ['{older}', ...ledger],
    ],
    [/is of version \d+, whose anchor was pending .*: check it again when .* \(wrong-root\)/, ['{newer}', ...ledger]],
    [
      /holds another root of version \d+, as it can while several shards are written: .* \(wrong-root\)/,
      ['{other-cut}', ...ledger],
    ],
    [/other values\. \(wrong-content\)/, ['{proof}', ...ledger, '--record', '{other-record}']],
    [/another id\. \(wrong-content\)/, ['{proof}', ...ledger, '--id', 'r1']],
    [/about the collection .*\(wrong-content\)/, ['{proof}', ...ledger, '--collection', OTHER]],
    [/about another root\. \(wrong-root\)/, ['{proof}', '--root', 'b'.repeat(64)]],
    [
      /no account \w+ on the ledger: no root of the collection was anchored so far, .*\(wrong-account\)/,
      ['{unnamed}', ...pinned(), '--account', '{no-account}'],
    ],
    [
      /no account \w+ on the ledger: the collection was deleted, which closes its account, .*\(wrong-account\)/,
      ['{proof}', ...pinned(), '--account', '{no-account}'],
    ],
    [/\(wrong-account\)/, ['{proof}', '--authority', collection.anchor.ledgerAddress!, '--account', '{account}']],
    [/not an object\. \(malformed\)/, ['{no-proof}', ...ledger]],
  ];
  await keep('content', { values: RECORD.values });
  await keep('no-proof', 'null');
  const answers = await Promise.all(cases.map(([, args]) => verify(...args)));
  for (const [at, [message]] of cases.entries()) {
    expect(answers[at]).toEqual({ code: 1, stdout: expect.stringMatching(message), stderr: '' });
    expect(answers[at].stdout).toMatch(/^NOT PROVEN {2}[^\n]+\n$/);
  }
});

test('unusable input is reported in one line', async () => {
  await keep('text', 'no json');
  const whole = JSON.stringify({ proof });
  await keep('marked', `\ufeff${whole}`);
  await keep('not-utf8', Buffer.from(whole.replace('{', '{"\xff":1,'), 'latin1'));
  await keep('deep', whole.replace('{', `{"x":${'['.repeat(64)}${']'.repeat(64)},`));
  await keep('wrong-values', { values: ['x'] });
  await keep('error', { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'no\u001b \nPRESENT' } });
  await keep('mute-error', { error: { code: -32602 } });
  await keep('misspelt', { id: RECORD.id, vector: RECORD.values });
  await keep('answer', { vectors: { [RECORD.id]: RECORD } });
  await keep('list', [RECORD]);
  await keep('null', 'null');
  await keep('nothing', {});
  const root = ['--root', proof.merkleRoot];
  const cases: [RegExp, string[]][] = [
    [/Give one file with a proof/, []],
    [/Give --root, or --authority/, ['{proof}']],
    [/Give --root, or --authority/, ['{proof}', ...pinned()]],
    [/Give --root, or --authority/, ['{proof}', '--root', proof.merkleRoot, ...pinned()]],
    [/Give --root, or --authority/, ['{proof}', ...pinned(), '--rpc', service.ledger!.url, '--account', '{account}']],
    [/--present or --absent, not both/, ['{proof}', '--root', proof.merkleRoot, '--present', '--absent']],
    [/'--roots'/, ['{proof}', '--roots', 'x']],
    [/text\.json cannot be read as JSON/, ['{text}', '--root', proof.merkleRoot]],
    ...['marked', 'not-utf8', 'deep'].map((name): [RegExp, string[]] => [
      new RegExp(`${name}\\.json cannot be read as JSON`),
      [`{${name}}`, '--root', proof.merkleRoot],
    ]),
    [/never\.json cannot be read as JSON/, [join(folder, 'never.json'), '--root', proof.merkleRoot]],
    [/has no account in base64/, ['{proof}', ...pinned(), '--account', '{record}']],
    [/http:\/\/127\.0\.0\.1:1 could not be asked/, ['{proof}', ...pinned(), '--rpc', 'http://127.0.0.1:1/key?k=key']],
    [/ledger's URL must be http or https/, ['{proof}', ...pinned(), '--rpc', 'key']],
    [/ledger's URL must be http or https/, ['{proof}', ...pinned(), '--rpc', 'http://me:key@127.0.0.1:1/']],
    [/error in place of an account: no\\u\{1b\} \\u\{a\}PRESENT/, ['{proof}', ...pinned(), '--account', '{error}']],
    [/error in place of an account: it does not say/, ['{proof}', ...pinned(), '--account', '{mute-error}']],
    [
      /has the key "vector"; a record has id, namespace, values and metadata alone/,
      ['{proof}', ...root, '--record', '{misspelt}'],
    ],
    [/has the key "vectors"; /, ['{proof}', ...root, '--record', '{answer}']],
    [/must hold an object with at least one of id, values/, ['{proof}', ...root, '--record', '{list}']],
    [/must hold an object with at least one of id, values/, ['{proof}', ...root, '--record', '{null}']],
    [/must hold an object with at least one of id, values/, ['{proof}', ...root, '--record', '{nothing}']],
    [/is of another id than --id/, ['{proof}', ...root, '--record', '{record}', '--id', 'r1']],
    [/values\[0\] must be a number/, ['{proof}', '--root', proof.merkleRoot, '--record', '{wrong-values}']],
  ];
  const answers = await Promise.all(cases.map(([, args]) => verify(...args)));
  for (const [at, [message]] of cases.entries()) {
    expect(answers[at]).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
    expect(answers[at].stderr).toMatch(/^provec-verify: \P{Cc}+\n$/u);
    expect(answers[at].stderr).not.toMatch(/k=key|me:key|'key'/);
  }
  expect((await verify('--help')).stdout).toMatch(/^Usage: provec-verify/);
});

describe('a node with unusual answers is reported in one line, without its key', () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function nodeThat(answers: RequestListener): Promise<string> {
    const server = createServer(answers);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  test.each<[string, string, RequestListener]>([
    [
      'an answer without an end',
      'could not be asked: its answer has more than 262144 bytes',
      (_, response) => {
        const more = () => void response.write(Buffer.alloc(64 * 1024, ' '), (error) => error ?? more());
        more();
      },
    ],
    [
      'another place to ask',
      'could not be asked: ',
      (_, response) => void response.writeHead(307, { location: service.ledger!.url }).end(),
    ],
    [
      "the ledger's error",
      String.raw`has an error in place of an account: rate\u{202e}\u{a}limit`,
      (_, response) => void response.writeHead(429).end('{"error":{"code":-32005,"message":"rate\u202e\\nlimit"}}'),
    ],
    [
      'no JSON',
      'answered with HTTP status 403 and no JSON.',
      (request, response) => void response.writeHead(403).end(`<html>${request.url}`),
    ],
  ])('%s', async (_, said, answers) => {
    const origin = await nodeThat(answers);
    const { code, stdout, stderr } = await verify('{proof}', ...pinned(), '--rpc', `${origin}/secret?key=secret`);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(`provec-verify: ${origin} ${said}`);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).not.toContain('secret');
  });
});
