/** `provec mcp`: an agent on stdin and stdout, by both revisions, up to a proof that verifies. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Agent, REVISIONS } from '../support/agent.ts';
import { startCommandLine, startProgram } from '../support/command-line.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';
import { startBridge } from '../support/stdio-bridge.ts';
import { until } from '../support/until.ts';

const VERIFIER = join(import.meta.dirname, '../../client/cli/provec-verify.ts');

let service: SharedService;
let folder: string;
beforeAll(async () => {
  [service, folder] = await Promise.all([shareService('anchored'), mkdtemp(join(tmpdir(), 'provec-mcp-'))]);
  await service.api('POST', '/collections', { name: 'stdio', dimensions: 2, shards: 2 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(REVISIONS)('by %s', (revision) => {
  test('what prove gives passes both verifiers, and after forget it proves absence', async () => {
    const id = `memory-${revision}`;
    const agent = await Agent.overStdio(service, revision, '--collection', 'stdio');
    expect(agent.client.getNegotiatedProtocolVersion()).toBe(revision);
    expect((await agent.client.listTools()).tools).toHaveLength(8);
    await agent.call('remember', { records: [{ id, text: 'over stdio', values: [1, 2] }] });
    expect((await agent.call('search', { id, topK: 1 })).json.matches).toEqual([
      { id, score: expect.closeTo(1, 6), metadata: { text: 'over stdio' } },
    ]);
    const present = await agent.call('prove', { id });
    await agent.call('forget', { ids: [id] });
    const absent = await agent.call('prove', { id });
    await agent.close();
    const files = [join(folder, `${id}-present.json`), join(folder, `${id}-absent.json`)] as const;
    await Promise.all([writeFile(files[0], present.text), writeFile(files[1], absent.text)]);
    const pins = ['--authority', service.ledger!.authority, '--rpc', service.ledger!.url, '--id', id];
    const [first, second, third] = await Promise.all([
      startProgram(process.execPath, [
        '--disable-warning=ExperimentalWarning',
        VERIFIER,
        files[0],
        ...pins,
        '--present',
      ]).ended,
      startProgram(process.execPath, ['--disable-warning=ExperimentalWarning', VERIFIER, files[1], ...pins, '--absent'])
        .ended,
      startCommandLine(['verify', '--proof', files[1], ...pins, '--absent'], {
        environment: { XDG_CONFIG_HOME: folder },
      }).ended,
    ]);
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^PRESENT/), stderr: '' });
    expect(second).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ABSENT/), stderr: '' });
    expect(third).toMatchObject({ code: 0, stdout: expect.stringMatching(/^ABSENT/), stderr: '' });
  });

  test('errors of tools come through as over HTTP', async () => {
    const agent = await Agent.overStdio(service, revision);
    const told = await agent.call('count', { collection: 'stdoi' });
    expect(told).toMatchObject({ isError: true, text: expect.stringContaining('did you mean stdio?') });
    await agent.close();
  });
});

test('a key that is wrong, a service that is away and lines that are no messages get an error with the id', async () => {
  const list = '{"jsonrpc":"2.0","id":"x","method":"tools/list"}\n';
  const wrong = startBridge({ PROVEC_URL: service.url, PROVEC_KEY: 'pv_live_wrong-key-wrong-key-wrong' });
  expect(await wrong.ask(list)).toMatchObject({
    id: 'x',
    error: { code: -32000, message: expect.stringContaining('unknown, revoked or expired') },
  });
  expect(await wrong.ask('[]\n')).toMatchObject({ id: null, error: { code: -32700 } });
  expect(await wrong.ask('no json\n')).toMatchObject({ id: null, error: { code: -32700 } });
  expect(await wrong.end()).toBe(0);
  const away = startBridge({ PROVEC_URL: 'http://127.0.0.1:1', PROVEC_KEY: service.key });
  expect(await away.ask(list)).toEqual({
    jsonrpc: '2.0',
    id: 'x',
    error: { code: -32000, message: 'http://127.0.0.1:1 does not answer.' },
  });
  expect(await away.end()).toBe(0);
});

test('without a key, it ends at once and says what to do', async () => {
  const { code, stdout, stderr } = await startCommandLine(['mcp'], { environment: { XDG_CONFIG_HOME: folder } }).ended;
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('Run provec login, or set PROVEC_KEY.');
});

describe('with a service that tests control', () => {
  let server: Server;
  let url: string;
  const asked: { url: string; headers: Record<string, unknown>; body: string; gone: Promise<void> }[] = [];
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const gone = new Promise<void>((resolve) => response.once('close', () => resolve()));
      let body = '';
      for await (const chunk of request) body += chunk;
      asked.push({ url: request.url!, headers: request.headers, body, gone });
      const { id, method } = JSON.parse(body) as { id?: number; method: string };
      if (method === 'slow') return;
      if (method === 'elsewhere') return void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end();
      if (method === 'page') return void response.end('<html>');
      if (id === undefined) return void response.writeHead(202).end();
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25' } }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test('headers say what the message says, and the key goes to no other address', async () => {
    const run = startBridge({ PROVEC_URL: url, PROVEC_KEY: 'k'.repeat(20) });
    const meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}';
    await run.ask('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
    await run.ask('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get"}}\n');
    await run.ask(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"g\\né","_meta":${meta}}}\n`);
    expect(await run.ask('{"jsonrpc":"2.0","id":4,"method":"elsewhere"}\n')).toMatchObject({
      id: 4,
      error: { code: -32000 },
    });
    expect(await run.ask('{"jsonrpc":"2.0","id":5,"method":"page"}\n')).toMatchObject({
      id: 5,
      error: { message: expect.stringContaining('HTTP status 200 and no message of MCP') },
    });
    expect(await run.end()).toBe(0);
    const seen = asked
      .splice(0)
      .map(({ headers }) => [headers['mcp-protocol-version'], headers['mcp-method'], headers['mcp-name']]);
    expect(seen).toEqual([
      [undefined, 'initialize', undefined],
      ['2025-11-25', 'tools/call', 'get'],
      ['2026-07-28', 'tools/call', undefined],
      ['2025-11-25', 'elsewhere', undefined],
      ['2025-11-25', 'page', undefined],
    ]);
  });

  test('a request that the client cancels, or leaves behind, ends at the service', async () => {
    const run = startBridge({ PROVEC_URL: url, PROVEC_KEY: 'k'.repeat(20) });
    run.send('{"jsonrpc":"2.0","id":1,"method":"slow"}\n{"jsonrpc":"2.0","id":2,"method":"slow"}\n');
    await until('both are asked', () => asked.length === 2);
    run.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n');
    await asked.find(({ body }) => body.includes('"id":1'))!.gone;
    expect(await run.end()).toBe(0);
    await Promise.all(asked.splice(0).map(({ gone }) => gone));
  });
});
