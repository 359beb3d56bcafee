import { afterEach, describe, expect, test } from '@jest/globals';
import type { ExportPart } from '../../../../../contracts/actions/collections.ts';
import { unavailable } from '../../../../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../../../../lib/limits.ts';
import { RawConnection } from '../../../../support/raw-connection.ts';
import { until as eventually } from '../../../../support/until.ts';
import { type Edge, type EdgeOptions, KEY, startEdge, until } from '../harness.ts';

const EXPORT = '/api/v1/collections/docs/export';
const HEAD = {
  ...{ collectionId: 'c1', name: 'docs', dimensions: 3, metric: 'cosine' as const, version: 1 },
  ...{ merkleRoot: 'r', vectorCount: 1 },
};
/** More than the sockets in between can buffer. */
const LARGE = Array.from({ length: 400 }, (_, at) => ({
  id: `r${at}`,
  namespace: '',
  values: new Float32Array(3),
  metadata: JSON.stringify({ text: 'x'.repeat(40_000) }),
}));

let edge: Edge;
afterEach(() => edge.stop());

const positionAfter = (part: number) => ({
  ...{ collectionId: 'c1', merkleRoot: 'r', count: part, partMaxBytes: 4_096 },
  rests: [{ index: 0, rest: `n/${part}` }],
});

/** A gateway whose export has three parts, and whose timers fire when the test says so. */
async function startExports(options: EdgeOptions = {}) {
  const waits: { ms: number; run: () => void }[] = [];
  const partAt = (at: { count: number } | undefined): ExportPart => {
    const number = at === undefined ? 1 : at.count + 1;
    if (number === 3) return { records: [], end: { count: 1, merkleRoot: 'r' } };
    return { ...(number === 1 && { head: HEAD }), records: LARGE, next: positionAfter(number) };
  };
  edge = await startEdge({
    timers: {
      after(ms, run) {
        const wait = { ms, run };
        waits.push(wait);
        return () => void (waits.includes(wait) && waits.splice(waits.indexOf(wait), 1));
      },
    },
    ...options,
    actions: {
      'collections.export': ({ at }) => partAt(at),
      'collections.keepExport': () => null,
      'collections.leaveExport': () => null,
      ...options.actions,
    },
  });
  return {
    waits,
    /** Fires the only timer. */
    fire() {
      expect(waits).toHaveLength(1);
      const [{ ms, run }] = waits.splice(0) as [(typeof waits)[number]];
      run();
      return ms;
    },
    /** Requests the export, and reads none of it. */
    ask() {
      const client = new RawConnection(edge.port);
      client.socket.pause();
      client.write(
        `GET ${EXPORT} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${KEY}\r\nX-Request-Id: asked\r\n\r\n`,
      );
      return client;
    },
  };
}

/** What the operator sees of the finished request: its log line and its counts. */
async function seen() {
  const isOfIt = (line: string) => line.includes('"asked"') && line.includes('"msg":"request"');
  await until(() => edge.log.some(isOfIt));
  const { level, msg, status, cutOff } = JSON.parse(edge.log.find(isOfIt)!) as Record<string, unknown>;
  const { text } = await edge.request('GET', '/metrics');
  const counts = text.match(/^provec_http_(requests|answers_cut_off)_total\{.*export.*$/gm) ?? [];
  return { line: { level, msg, status, cutOff }, counts };
}

const STATS = { 'shards.stats': () => ({}), 'anchoring.stats': () => ({}) };

/** A gauge of the queue that exports wait in. */
async function inQueue(gauge: string): Promise<string | undefined> {
  const { text } = await edge.request('GET', '/metrics');
  return new RegExp(`^provec_gateway_${gauge}\\{.*queue="query".*\\} (\\d+)$`, 'm').exec(text)?.[1];
}

const calls = (action: string) => edge.calls.get(`collections.${action}`) ?? [];

test('while its client receives a part, an export has the shards keep the next one', async () => {
  const { ask, fire, waits } = await startExports();
  const client = ask();
  await until(() => waits.length === 1);
  for (let times = 1; times <= 20; times++) {
    // One of these calls may be lost.
    expect(fire()).toBeLessThanOrEqual(INTERNAL_LIMITS.unaskedPageMaxMs / 2);
    await until(() => calls('keepExport').length === times);
  }
  expect(calls('export')).toHaveLength(1);
  for (const params of calls('keepExport'))
    expect(params).toEqual({ accountId: 'a1', name: 'docs', collectionId: 'c1', at: positionAfter(1) });
  client.socket.resume();
  expect(await client.end()).toContain('{"end":');
  expect(calls('export').map(({ at }) => at)).toEqual([undefined, positionAfter(1), positionAfter(2)]);
  expect(calls('keepExport')).toHaveLength(20);
  expect(calls('leaveExport')).toEqual([]);
  expect(waits).toEqual([]);
});

test('an export continues even if shards cannot keep a part', async () => {
  const { ask, fire, waits } = await startExports({ without: ['collections.keepExport'] });
  const client = ask();
  await until(() => waits.length === 1);
  fire();
  fire();
  client.socket.resume();
  expect(await client.end()).toContain('{"end":');
});

test('each part is read with a permit, which a client that reads slowly does not hold', async () => {
  const second = Promise.withResolvers<ExportPart>();
  const { ask, waits } = await startExports({
    actions: {
      ...STATS,
      'collections.export': ({ at }) =>
        at === undefined ? { head: HEAD, records: LARGE, next: positionAfter(1) } : second.promise,
    },
  });
  const client = ask();
  await until(() => waits.length === 1);
  expect(await inQueue('seats_taken')).toBe('0');
  client.socket.resume();
  await until(() => calls('export').length === 2);
  expect(await inQueue('seats_taken')).toBe('1');
  second.resolve({ records: [], end: { count: 1, merkleRoot: 'r' } });
  expect(await client.end()).toContain('{"end":');
  expect(await inQueue('seats_taken')).toBe('0');
});

test('a part that waits for its permit for long does not end the export', async () => {
  const query = Promise.withResolvers<object>();
  const { ask, fire, waits } = await startExports({
    bounds: { queues: { query: { permits: 1, waitMaxMs: 1, waitingPerAccountMax: 1 } } },
    actions: { ...STATS, 'collections.query': () => query.promise },
  });
  const client = ask();
  await until(() => waits.length === 1);
  const askQuery = () => edge.request('POST', '/api/v1/collections/docs/query', { vector: [1, 2, 3] });
  const answer = askQuery();
  await until(() => calls('query').length === 1);
  client.socket.resume();
  await eventually('the part waits', async () => (await inQueue('waiting_requests')) === '1');
  expect((await askQuery()).status).toBe(503);
  expect((await askQuery()).status).toBe(503);
  fire();
  await until(() => calls('keepExport').length === 1);
  query.resolve({ matches: [] });
  expect((await answer).status).toBe(200);
  expect(await client.end()).toContain('{"end":');
});

test('reading a part ends when the client leaves', async () => {
  const reading = Promise.withResolvers<AbortSignal | undefined>();
  const { ask } = await startExports({
    actions: {
      'collections.export': ({ at }, { signal }) => {
        if (at === undefined) return { head: HEAD, records: [], next: positionAfter(1) };
        reading.resolve(signal);
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    },
  });
  const client = ask();
  const signal = await reading.promise;
  client.destroy();
  await until(() => signal?.aborted === true);
  await until(() => calls('leaveExport').length === 1);
});

describe('the shards release what no client will read', () => {
  const isLeft = async (part = 1) => {
    await until(() => calls('leaveExport').length > 0);
    expect(calls('leaveExport')).toEqual([
      { accountId: 'a1', name: 'docs', collectionId: 'c1', at: positionAfter(part) },
    ]);
  };

  test('when the client has left', async () => {
    const { ask, waits } = await startExports();
    const client = ask();
    await until(() => waits.length === 1);
    client.destroy();
    await isLeft();
    expect(waits).toEqual([]);
    expect(calls('export')).toHaveLength(1);
  });

  test('when it leaves before the first part', async () => {
    let comes: (part: ExportPart) => void = () => undefined;
    const { ask } = await startExports({
      actions: {
        'collections.export': () =>
          new Promise((resolve) => {
            comes = resolve;
          }),
      },
    });
    const client = ask();
    await until(() => calls('export').length === 1);
    client.destroy();
    await until(() => edge.log.some((line) => line.includes('"status":499')));
    comes({ head: HEAD, records: LARGE, next: positionAfter(1) });
    await isLeft();
  });

  test('of HEAD, which has no second part', async () => {
    const { waits } = await startExports();
    expect(await edge.request('HEAD', EXPORT)).toMatchObject({ status: 200, text: '' });
    await isLeft();
    expect(waits).toEqual([]);
    expect(calls('export')).toHaveLength(1);
  });

  test('when the client reads too slowly', async () => {
    const { ask } = await startExports({ minimumPace: { bytesPerSecond: 1e12, windowMs: 1 } });
    const client = ask();
    await isLeft();
    client.destroy();
  });

  test('when a part fails', async () => {
    const { ask } = await startExports({
      actions: {
        'collections.export': ({ at }) => {
          const number = at === undefined ? 1 : (at as { count: number }).count + 1;
          if (number === 3) throw unavailable('A shard was moved.');
          return { ...(number === 1 && { head: HEAD }), records: LARGE, next: positionAfter(number) };
        },
      },
    });
    const client = ask();
    client.socket.resume();
    await client.end();
    await isLeft(2);
  });

  test('when there is no memory for the first part', async () => {
    const records = Array(20_000).fill(LARGE[0]);
    const { ask } = await startExports({
      actions: { 'collections.export': () => ({ head: HEAD, records, next: positionAfter(1) }) },
    });
    const client = ask();
    await isLeft();
    client.destroy();
  });
});

describe('in the log and the metrics', () => {
  const REQUESTS = 'provec_http_requests_total{route="/api/v1/collections/{name}/export",method="GET",status=';
  const CUT_OFF = 'provec_http_answers_cut_off_total{route="/api/v1/collections/{name}/export",reason=';
  const cutOff = (reason: string) => ({
    line: { level: 40, msg: 'request', status: 200, cutOff: reason },
    counts: [`${REQUESTS}"cut_off"} 1`, `${CUT_OFF}"${reason}"} 1`],
  });

  test('an export is cut off if its client reads too slowly', async () => {
    const { ask } = await startExports({ minimumPace: { bytesPerSecond: 1e12, windowMs: 1 } });
    const client = ask();
    expect(await seen()).toEqual(cutOff('slow_client'));
    client.destroy();
  });

  test('... and if a part of it fails, for any reason', async () => {
    const { ask } = await startExports({
      actions: {
        'collections.export': ({ at }) => {
          if (at !== undefined) throw unavailable('A shard was moved.');
          return { head: HEAD, records: LARGE, next: positionAfter(1) };
        },
      },
    });
    const client = ask();
    client.socket.resume();
    expect(await client.end()).not.toContain('{"end":');
    expect(await seen()).toEqual(cutOff('UNAVAILABLE'));
  });

  test('an export that its client leaves is neither', async () => {
    const { ask, waits } = await startExports();
    const client = ask();
    await until(() => waits.length === 1);
    client.destroy();
    expect(await seen()).toEqual({ line: { level: 20, msg: 'request', status: 499 }, counts: [`${REQUESTS}"499"} 1`] });
  });
});
