import { describe, expect, test } from '@jest/globals';
import { RawConnection } from '../../../support/raw-connection.ts';
import { type Edge, KEY, startEdge, until } from './harness.ts';

const RUNNING_MAX = 8;
const usage = (id = '', padding = 0) =>
  `GET /api/v1/usage HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: r${id}\r\nX: ${'x'.repeat(padding)}\r\n\r\n`;

/** A gateway whose responses to GET /usage come when the test says so. */
async function startHeldEdge(): Promise<{ edge: Edge; answers: (() => void)[] }> {
  const answers: (() => void)[] = [];
  const edge = await startEdge({
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

  test('a connection is not read further while requests wait', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      // More than the system buffers for a client that does not read.
      const block = usage('', 8_000).repeat(8);
      let isTaken = true;
      for (let blocks = 0; isTaken && blocks < 1_000; blocks++) {
        isTaken = raw.socket.write(block);
        if (!isTaken) isTaken = await isDrainedBefore(raw, edge);
      }
      expect(isTaken).toBe(false);
      expect(answers.length).toBeLessThanOrEqual(RUNNING_MAX);
      raw.destroy();
    } finally {
      for (const answer of answers) answer();
      await edge.stop();
    }
  });

  test('if they hold too much together, the connection that holds the most is closed', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const calm = new RawConnection(edge.port);
      calm.write(usage('calm').repeat(2));
      await until(() => answers.length === 2);
      const greedy = Array.from({ length: 100 }, () => new RawConnection(edge.port));
      for (const raw of greedy) raw.write(usage().repeat(400));
      await until(() => greedy.some(({ ended }) => ended));
      expect(calm.ended).toBe(false);
      for (const raw of greedy) raw.destroy();
      for (const answer of answers) answer();
      const received = await calm.until((text) => text.split('X-Request-Id: rcalm\r').length === 3);
      expect(received.match(/HTTP\/1.1 200/g)).toHaveLength(2);
    } finally {
      await edge.stop();
    }
  });

  test('those of a client that has left are not begun', async () => {
    const { edge, answers } = await startHeldEdge();
    try {
      const raw = new RawConnection(edge.port);
      raw.write(usage('gone').repeat(20));
      await until(() => answers.length === RUNNING_MAX);
      raw.destroy();
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
});

/** Whether the written data is consumed before a hundred responses on other connections. */
async function isDrainedBefore(raw: RawConnection, edge: Edge): Promise<boolean> {
  let isDrained = false;
  raw.socket.once('drain', () => {
    isDrained = true;
  });
  for (let at = 0; at < 100 && !isDrained; at++) await edge.request('GET', '/livez');
  return isDrained;
}
