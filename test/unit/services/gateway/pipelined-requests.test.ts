import type { ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { HttpServer, type HttpTimeouts } from '../../../../services/gateway/http-server.ts';
import { RawConnection } from '../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge, until } from './harness.ts';

const RUNNING_MAX = 8;
const usage = (id = '', padding = 0) =>
  `GET /api/v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: r${id}\r\nX: ${'x'.repeat(padding)}\r\n\r\n`;

/** A gateway whose responses to GET /usage come when the test says so. */
async function startHeldEdge(timeouts?: HttpTimeouts): Promise<{ edge: Edge; answers: (() => void)[] }> {
  const answers: (() => void)[] = [];
  const edge = await startEdge({
    timeouts,
    actions: { 'metering.usage': () => new Promise((resolve) => answers.push(() => resolve({}))) },
  });
  return { edge, answers };
}

describe('requests sent on one connection before their answers', () => {
  test('eight run at a time, the others follow in order, and each is answered', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const ids = Array.from({ length: 50 }, (_, at) => `${at}`);
      const raw = new RawConnection(edge.port);
      raw.write(ids.map((id) => usage(id)).join(''));
      for (let answered = 0; answered < ids.length; answered++) {
        const begun = Math.min(ids.length, answered + RUNNING_MAX);
        await until(() => answers.length >= begun);
        // A request on another connection starts as well, which shows that no more of the others
        // were started.
        const other = edge.request('GET', '/livez');
        expect((await other).status).toBe(200);
        expect(answers).toHaveLength(begun);
        answers[answered]!();
      }
      const received = await raw.until((text) => text.includes(`X-Request-Id: r${ids.length - 1}\r`));
      const answeredIds = [...received.matchAll(/^X-Request-Id: r(\d+)\r$/gm)].map(([, id]) => id);
      expect(answeredIds).toEqual(ids);
    } finally {
      await edge.stop();
    }
  });

  test("a request's time includes its wait for the earlier ones", async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      raw.write(usage('early').repeat(RUNNING_MAX) + usage('late'));
      await until(() => answers.length === RUNNING_MAX);
      const waitingSinceMs = performance.now();
      for (let at = 0; at < 20; at++) await edge.request('GET', '/livez');
      const waitedMs = performance.now() - waitingSinceMs;
      for (const answer of answers.splice(0)) answer();
      await until(() => answers.length === 1);
      answers[0]!();
      await raw.until((text) => text.includes('X-Request-Id: rlate\r'));
      await until(() => edge.log.some((line) => line.includes('"rlate"')));
      const { ms } = JSON.parse(edge.log.find((line) => line.includes('"rlate"'))!) as { ms: number };
      expect(ms).toBeGreaterThanOrEqual(Math.floor(waitedMs));
    } finally {
      for (const answer of answers) answer();
      await edge.stop();
    }
  });

  test('a connection is not read further while requests wait, and each is answered', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      const sent = 8 * (await writtenUntilUnread(raw, edge, usage('', 8_000).repeat(8)));
      expect(raw.ended).toBe(false);
      expect(answers).toHaveLength(RUNNING_MAX);
      for (let answered = 0; answered < sent; answered++) {
        await until(() => answers.length > answered);
        answers[answered]!();
      }
      await raw.until((text) => text.split('HTTP/1.1 200').length > sent);
      raw.destroy();
    } finally {
      for (const answer of answers) answer();
      await edge.stop();
    }
  });

  test('the body of a request that waits is not read further', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      const post = `POST /api/v1/collections/docs/upsert HTTP/1.1\r\nHost: x\r\nContent-Length: ${2 ** 30}\r\n\r\n`;
      raw.write(usage().repeat(RUNNING_MAX + 1) + post);
      await writtenUntilUnread(raw, edge, 'x'.repeat(65_536));
      expect(raw.ended).toBe(false);
      raw.destroy();
    } finally {
      for (const answer of answers) answer();
      await edge.stop();
    }
  });

  test.each([
    ['closes the connection', 20, (raw: RawConnection) => raw.destroy()],
    ['resets it', 20, (raw: RawConnection) => raw.socket.resetAndDestroy()],
    ['closes it before all is read', 2_000, (raw: RawConnection) => raw.destroy()],
    ['resets it before all is read', 2_000, (raw: RawConnection) => raw.socket.resetAndDestroy()],
  ])('if a client %s, its running requests are cancelled, and no others are begun', async (_, sent, leave) => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      raw.write(usage('gone').repeat(sent));
      await until(() => answers.length === RUNNING_MAX && raw.socket.writableLength === 0);
      leave(raw);
      const isGone = () => edge.log.filter((line) => line.includes('"status":499')).length === RUNNING_MAX;
      await until(isGone);
      for (const answer of answers.splice(0)) answer();
      const next = edge.request('GET', '/api/v1/usage');
      await until(() => answers.length === 1);
      answers[0]!();
      expect((await next).status).toBe(200);
    } finally {
      await edge.stop();
    }
  });

  test('a client that closes its side while requests wait gets every answer', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      raw.socket.end(usage().repeat(20));
      await raw.until((text) => text.includes('HTTP/1.1 102 Processing\r\n\r\n'));
      expect(answers).toHaveLength(RUNNING_MAX);
      for (let answered = 0; answered < 20; answered++) {
        await until(() => answers.length > answered);
        answers[answered]!();
      }
      expect((await raw.end()).match(/HTTP\/1\.1 200/g)).toHaveLength(20);
    } finally {
      await edge.stop();
    }
  });

  test('the time for a head counts only while its connection is read', async () => {
    const { edge, answers } = await startHeldEdge({ headerMs: 500, requestMs: 1_000 });
    try {
      const [prompt, late] = [new RawConnection(edge.port), new RawConnection(edge.port)];
      for (const raw of [prompt, late]) raw.write(`${usage().repeat(RUNNING_MAX + 1)}GET /livez HT`);
      await until(() => answers.length === 2 * RUNNING_MAX);
      // Node looks at all heads at once, so when it finds this one late, it has found the others.
      const other = new RawConnection(edge.port);
      other.write('GET /livez HT');
      expect(await other.end()).toMatch(/^HTTP\/1.1 408 /);
      prompt.write('TP/1.1\r\nHost: x\r\n\r\n');
      for (const answer of answers.splice(0)) answer();
      await until(() => answers.length === 2);
      for (const answer of answers) answer();
      await prompt.until((text) => text.includes('"live"'));
      expect(await late.end()).toMatch(/HTTP\/1.1 408 /);
      prompt.destroy();
    } finally {
      for (const answer of answers) answer();
      await edge.stop();
    }
  });
});

test('if they hold too much together, the connection that holds the most is closed', async () => {
  const running: ServerResponse[] = [];
  const server = new HttpServer({ headerMs: 60_000, requestMs: 120_000 }, (_req, res) => running.push(res));
  const { port } = await server.listen(0, '127.0.0.1');
  const calm = new RawConnection(port);
  calm.write(usage('calm').repeat(2));
  await until(() => running.length === 2);
  const greedy = Array.from({ length: 200 }, () => new RawConnection(port));
  for (const raw of greedy) raw.write(usage('', 15_000).repeat(20));
  await until(() => greedy.some(({ ended }) => ended));
  expect(calm.ended).toBe(false);
  for (const raw of greedy) raw.destroy();
  for (const [at, res] of running.entries()) res.end(`answer ${at}`);
  expect(await calm.until((text) => text.includes('answer 1'))).toContain('answer 0');
  calm.destroy();
  await server.close(60_000);
});

test('a turn of the event loop takes few requests, however many came at once', async () => {
  const CONNECTIONS = 20;
  const SENT = 100;
  let inTurn = 0;
  let mostInTurn = 0;
  const server = new HttpServer({ headerMs: 60_000, requestMs: 60_000 }, (_req, res) => {
    if (inTurn === 0) setImmediate(() => (inTurn = 0));
    mostInTurn = Math.max(mostInTurn, ++inTurn);
    for (const startMs = performance.now(); performance.now() - startMs < 1; );
    res.end('answer');
  });
  const { port } = await server.listen(0, '127.0.0.1');
  const all = Array.from({ length: CONNECTIONS }, () => new RawConnection(port));
  for (const raw of all) raw.write('GET / HTTP/1.1\r\n\r\n'.repeat(SENT));
  for (const raw of all) await raw.until((text) => text.split('HTTP/1.1 200').length > SENT);
  // The first request of each read, and five milliseconds of the others.
  expect(mostInTurn).toBeLessThanOrEqual(CONNECTIONS + 6);
  for (const raw of all) raw.destroy();
  await server.close(60_000);
});

test('bodies with empty lines, and requests that a read splits, arrive as they were sent', async () => {
  const bodies: string[] = [];
  const server = new HttpServer({ headerMs: 60_000, requestMs: 120_000 }, (req, res) => {
    let body = '';
    req.setEncoding('latin1');
    req.on('data', (text: string) => {
      body += text;
    });
    req.on('end', () => {
      bodies.push(body);
      res.end('answer');
    });
  });
  const { port } = await server.listen(0, '127.0.0.1');
  const raw = new RawConnection(port);
  const sent = Array.from({ length: 30 }, (_, at) => `${'\r\n\r\nGET / HTTP/1.1\r\n\r\n'.repeat(at * at)}${at}`);
  const requests = sent.map((body, at) =>
    at % 2
      ? `POST / HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      : `POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  );
  const bytes = requests.join('');
  for (let at = 0; at < bytes.length; at += 997) {
    raw.write(bytes.slice(at, at + 997));
    if (at % 7 === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await raw.until((text) => text.split('HTTP/1.1 200').length > sent.length);
  expect(bodies).toEqual(sent);
  raw.destroy();
  await server.close(60_000);
});

test.each([
  ['has not begun', (_: ServerResponse) => {}],
  ['has begun', (first: ServerResponse) => first.flushHeaders()],
])('a stop sends every response of a connection whose first one %s, and runs no later request', async (_, begin) => {
  const running: ServerResponse[] = [];
  const server = new HttpServer({ headerMs: 60_000, requestMs: 60_000 }, (_req, res) => running.push(res));
  const { port } = await server.listen(0, '127.0.0.1');
  const raw = new RawConnection(port);
  raw.write(usage().repeat(3));
  await until(() => running.length === 3);
  begin(running[0]!);
  const closed = server.close(60_000);
  raw.write(usage());
  await until(() => running[0]!.req.socket.bytesRead === raw.socket.bytesWritten);
  for (const [at, res] of running.entries()) res.end(`answer ${at}`);
  const received = await raw.end();
  expect(received.match(/answer \d/g)).toEqual(['answer 0', 'answer 1', 'answer 2']);
  expect(received.match(/^Connection: close\r$/gm)).toHaveLength(1);
  expect(running).toHaveLength(3);
  await closed;
});

/**
 * Writes the block until the gateway no longer reads; returns how often. The system buffers some MB
 * for a client that is not read.
 */
async function writtenUntilUnread(raw: RawConnection, edge: Edge, block: string): Promise<number> {
  for (let blocks = 1; blocks <= 1_000; blocks++)
    if (!raw.socket.write(block) && !(await isDrainedBefore(raw, edge))) return blocks;
  throw new Error('the gateway read everything');
}

/** Whether the written data is consumed before a hundred responses on other connections. */
async function isDrainedBefore(raw: RawConnection, edge: Edge): Promise<boolean> {
  let isDrained = false;
  raw.socket.once('drain', () => {
    isDrained = true;
  });
  for (let at = 0; at < 100 && !isDrained; at++) await edge.request('GET', '/livez');
  return isDrained;
}
