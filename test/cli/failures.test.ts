/** How `provec` ends when something is wrong. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, expect, test } from '@jest/globals';
import { failureOf } from '../../cli/exit-code.ts';
import { makeProgram } from '../../cli/program.ts';
import { type CommandRun, startCommandLine } from '../support/command-line.ts';
import { shareService } from '../support/shared-service.ts';

/** A key that no service knows. */
const KEY = `pv_live_${'x'.repeat(43)}`;
const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function serverThat(answers: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(answers);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

const start = (url: string, ...args: string[]) =>
  startCommandLine(args, { environment: { PROVEC_URL: url, PROVEC_KEY: KEY, HOME: '/nonexistent' } });
const provec = (url: string, ...args: string[]): Promise<CommandRun> => start(url, ...args).ended;

test('wrong arguments exit with 2 and one line that names them', async () => {
  const cases: [RegExp, string[]][] = [
    [/unknown command 'qurey' \(Did you mean query\?\)/, ['qurey']],
    [/unknown option '--topk' \(Did you mean --top-k\?\)/, ['query', 'notes', '--topk', '3']],
    [
      /option '--top-k <n>' argument 'x' is invalid\. Give a whole number\./,
      ['query', 'c', '--id', 'a', '--top-k', 'x'],
    ],
    [/missing required argument 'collection'/, ['query']],
    [/required option '--dimensions <n>' not specified/, ['collections', 'create', 'c']],
    [/'manhattan' is invalid\. Allowed choices are/, ['collections', 'create', 'c', '--metric', 'manhattan']],
    [/Give --vector or --id, not both\./, ['query', 'notes']],
    [/--vector is not JSON/, ['query', 'notes', '--vector', '[1']],
    [/--vector must be a JSON array/, ['query', 'notes', '--vector', '{}']],
    [/--filter must be a JSON object\./, ['count', 'notes', '--filter', '[]']],
    [/ENOENT.*absent\.json/, ['query', 'notes', '--vector', '@absent.json']],
    [/--root goes with --proof, --export or --manifest/, ['verify', 'notes', '--root', 'a']],
    [/--signer goes with --manifest/, ['verify', '--proof', 'a', '--signer', 'a']],
    [/--signer goes with --manifest/, ['verify', '--export', 'a', '--signer', 'a']],
    [/--record goes with --proof/, ['verify', '--manifest', 'a', '--record', 'a']],
    [/--signer must be 64/, ['verify', '--manifest', 'a', '--signer', 'a']],
    [/Give one of no-vector, .* or all/, ['import-from', 'ndjson', 'a', '--from', 'a', '--leave-out', 'some']],
    [/--limit must be at least 1/, ['import-from', 'ndjson', 'a', '--from', 'a', '--limit', '0']],
    [/--page must be from 1 to 1000/, ['import-from', 'parquet', 'a', '--from', 'a', '--page', '1001']],
    [/--in-flight must be from 1 to 32/, ['import-from', 'chroma', 'a', '--in-flight', '0']],
    [/--from must not hold a password/, ['import-from', 'qdrant', 'a', '--from', 'http://a:b@127.0.0.1']],
    [/--from must be an http or https address/, ['import-from', 'weaviate', 'a', '--from', 'file:///a']],
    [/--checkpoint needs a file/, ['import', 'notes', '--checkpoint', 'x']],
    [/unknown option '--api-key'/, ['usage', '--api-key', KEY]],
  ];
  for (const [message, args] of cases) {
    const program = await makeProgram(args);
    const error: unknown = await program.parseAsync(args, { from: 'user' }).catch((reason: unknown) => reason);
    const failure = failureOf(error);
    expect(failure).toMatchObject({ exitCode: 2, message: expect.stringMatching(message) });
    expect(failure.message).not.toContain('\n');
  }
  const [bare, unknown, address] = await Promise.all([
    provec('http://127.0.0.1:1'),
    provec('http://127.0.0.1:1', 'qurey', '--json'),
    provec('provec.example', 'usage'),
  ]);
  expect(bare).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^Usage: provec/) });
  expect(unknown).toMatchObject({ code: 2, stdout: '' });
  expect(unknown.stderr).toMatch(/^provec: unknown command 'qurey' \(Did you mean query\?\)\n\{"code":"USAGE",.*\}\n$/);
  expect(address).toMatchObject({ code: 2, stderr: expect.stringContaining('url must be the address of a Provec') });
});

test('a service that refuses exits with 3, and one that cannot be used with 4', async () => {
  const { url: service } = await shareService();
  const page = await serverThat((_, response) => void response.end('<html>\u001b[2J'));
  const absent = await serverThat((_, response) => void response.writeHead(404).end('<html>'));
  const busy = await serverThat((_, response) => {
    const body = { error: 'busy\u001b[2J\nnow', code: 'UNAVAILABLE', status: 503, requestId: 'r' };
    response.writeHead(503, { 'retry-after': '31', 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const [refused, wrong, notFound, later, nothing] = await Promise.all([
    provec(service, 'usage', '--json'),
    provec(page.url, 'usage'),
    provec(absent.url, 'usage'),
    provec(busy.url, 'usage', '--json'),
    provec('http://127.0.0.1:1', 'usage', '--json'),
  ]);
  const objectOf = ({ stderr }: CommandRun) => JSON.parse(stderr.split('\n')[1]);
  expect([refused.code, objectOf(refused)]).toMatchObject([3, { code: 'UNAUTHENTICATED', status: 401, exitCode: 3 }]);
  for (const run of [wrong, notFound])
    expect(run).toEqual({ code: 4, stdout: '', stderr: expect.stringMatching(/^provec: [^\p{Cc}]+\n$/u) });
  expect([later.code, objectOf(later)]).toMatchObject([4, { code: 'UNAVAILABLE', status: 503 }]);
  expect(later.stderr).toMatch(/^provec: busy\\u\{1b\}\[2J\\u\{a\}now\. The client gave up/);
  expect([nothing.code, objectOf(nothing)]).toMatchObject([4, { code: 'UNREACHABLE' }]);
  for (const { stderr } of [refused, wrong, notFound, later, nothing]) expect(stderr).not.toContain(KEY);
});

test('what another server answers cannot steer the terminal', async () => {
  const steering = '\u001b[2J\u009b1A\u202e';
  const settings = { dimensions: 2, metric: 'dot', shards: 1, replicas: 0, quantization: 'f32' };
  const state = { id: 'c', vector_count: 0, created_at: steering, deletionProtection: false };
  const { url } = await serverThat((_, response) => {
    const body = JSON.stringify({ collection: { name: steering, [steering]: steering, ...settings, ...state } });
    response.writeHead(201).end(body);
  });
  const create = ['collections', 'create', 'c', '--dimensions', '2'];
  for (const { code, stdout, stderr } of await Promise.all([
    provec(url, ...create),
    provec(url, ...create, '--json'),
  ])) {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('1A');
    expect(stdout).not.toMatch(/[\p{Cf}\p{Zl}\p{Zp}]|(?!\n)\p{Cc}/u);
  }
});

test('a request that is repeated is noted on stderr', async () => {
  let requests = 0;
  const { url } = await serverThat((_, response) => {
    if (++requests === 1) response.writeHead(503).end();
    else response.end('{"collections":[]}');
  });
  expect(await provec(url, 'collections', 'list', '--json')).toEqual({
    code: 0,
    stdout: '{"collections":[]}\n',
    stderr: `provec: ${url} does not answer; trying again for up to a minute\n`,
  });
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s ends a waiting command with %i', async (signal, code) => {
  const { url, server } = await serverThat(() => undefined);
  const { child, ended } = start(url, 'verify', 'notes');
  await once(server, 'request');
  child.kill(signal);
  expect(await ended).toEqual({ code, stdout: '', stderr: 'provec: interrupted\n' });
});

test('a reader that closes its pipe ends the command quietly', async () => {
  const { url } = await serverThat((_, response) => {
    response.end(JSON.stringify({ records: [{ id: 'a' }], nextCursor: `${Math.random()}` }));
  });
  const { child, ended } = start(url, 'list', 'notes', '--json');
  child.stdout!.destroy();
  expect(await ended).toEqual({ code: 0, stdout: '', stderr: '' });
});
