import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiClient } from '../../support/api-client.ts';
import { RawConnection } from '../../support/raw-connection.ts';
import { until } from '../../support/until.ts';
import { Flood, LIGHT_QUERY, upsertOf } from './flood.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 100;
const BODY_BYTES = 4 * MIB;
/** Bodies may take 16 MiB; the rest is for sockets, growth of the heap, and a parsing thread. */
const GROWTH_MAX_BYTES = 250 * MIB;
const HEAP_MAX_MIB = 96;

let node: ChildProcess;
let at: { url: string; port: number; big: string; small: string };
beforeAll(async () => {
  node = fork(fileURLToPath(new URL('./bounded-node.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc', `--max-old-space-size=${HEAP_MAX_MIB}`],
    env: { PATH: process.env.PATH },
  });
  [at] = (await once(node, 'message')) as [typeof at];
});
afterAll(async () => {
  await ask('stop');
  const ended = once(node, 'exit');
  node.kill('SIGKILL');
  await ended;
});

async function ask(what: 'state' | 'open' | 'stop'): Promise<{ rssBytes: number; begun: number }> {
  const answer = once(node, 'message');
  node.send(what);
  return ((await answer) as [{ rssBytes: number; begun: number }])[0];
}

test('400 MiB of writes and 3,000 queries at once, with nothing progressing, take bounded memory, and small ones are served', async () => {
  const before = await ask('state');
  const flood = new Flood(at.url, at.big, CONNECTIONS);
  const body = upsertOf(1, BODY_BYTES);
  flood.keepSending(CONNECTIONS, 'upsert', body);
  const pipes = Array.from({ length: 10 }, () => new RawConnection(at.port));
  for (const pipe of pipes) {
    const query = `POST /api/v1/collections/docs/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${at.big}\r\nContent-Length: ${LIGHT_QUERY.length}\r\n\r\n${LIGHT_QUERY}`;
    pipe.write(query.repeat(300));
  }
  let mostBytes = 0;
  await until('many were refused', async () => {
    mostBytes = Math.max(mostBytes, (await ask('state')).rssBytes);
    return flood.count(503) > CONNECTIONS / 4;
  });
  const api = apiClient(at.url, at.small);
  const held = (await ask('state')).begun;
  const answers = [
    api('POST', '/collections/docs/query', JSON.parse(LIGHT_QUERY)),
    api('POST', '/collections/docs/upsert', JSON.parse(upsertOf(1))),
  ];
  await until('the small ones began', async () => (await ask('state')).begun >= held + answers.length);
  mostBytes = Math.max(mostBytes, (await ask('state')).rssBytes);
  expect(mostBytes - before.rssBytes).toBeLessThan(GROWTH_MAX_BYTES);
  await ask('open');
  for (const answer of answers) expect((await answer).status).toBe(200);
  for (const pipe of pipes) pipe.destroy();
  flood.cut();
});
