import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { ProvecError } from '../../../lib/errors.ts';
import { StoreError } from '../../../store/port.ts';
import { until } from '../../support/until.ts';
import { FAILURES, outcome, type TestNode, TransportCluster, type TransportKind } from './cluster.ts';

const MIB = 1024 * 1024;

/** Expectations for nodes that keep running, with any transport. */
export function stayingNodes(means: () => TransportKind): void {
  let cluster: TransportCluster;
  let a: TestNode;
  let b: TestNode;
  let c: TestNode;
  const failure = async (how: string) =>
    (await outcome(a.broker.call('b.fail', { how }))) as { error: Error & Record<string, unknown> };

  beforeAll(async () => {
    cluster = new TransportCluster(means());
    [a, b, c] = await cluster.startAll('a', 'b', 'c');
  });
  afterAll(() => cluster.stop());

  test('a call runs on the named node', async () => {
    for (const to of [b, c]) {
      expect(await a.broker.call('$node.options', {}, { nodeID: to.id })).toMatchObject({ nodeID: to.id });
      expect(await to.broker.call('a.whoCalls')).toBe(to.id);
    }
    await expect(a.broker.call('b.echo', {}, { nodeID: 'c' })).rejects.toThrow(Errors.ServiceNotFoundError);
  });

  test('params and results arrive as they were sent', async () => {
    const filter = JSON.parse('{"__proto__":{"$eq":1},"constructor":"x","$or":[{"a":-0}]}');
    const params = {
      filter,
      vectors: new Float32Array([0.5, -0]),
      hash: new Uint8Array(32).fill(3),
      absent: undefined,
      nothing: null,
    };
    const echoed = await a.broker.call<typeof params, typeof params>('b.echo', params);
    expect(echoed).toStrictEqual(params);
    expect(Object.keys(echoed.filter)).toEqual(['__proto__', 'constructor', '$or']);
    expect(echoed.vectors.buffer.byteLength).toBe(8);
  });

  describe('errors', () => {
    test('of ours keep their class and the fields that callers use, and nothing else is sent', async () => {
      const { error } = await failure('provec');
      expect(error).toBeInstanceOf(ProvecError);
      expect(error).toMatchObject({
        code: 'UNAVAILABLE',
        status: 503,
        retryAfterSeconds: 7,
        message: 'The shard is opening.',
      });
      expect(error.cause).toBeUndefined();
      const { error: detailed } = await failure('details');
      expect(detailed.details).toEqual([{ path: 'records[3].id', expected: 'a string', got: '5' }]);
      expect((await failure('allow')).error).toMatchObject({
        code: 'METHOD_NOT_ALLOWED',
        status: 405,
        allow: ['GET'],
      });
      for (const kind of ['capacity', 'unknown']) {
        const { error } = await failure(kind);
        expect(error).toBeInstanceOf(StoreError);
        expect(error).toMatchObject({ kind });
      }
    });

    test("of Moleculer keep theirs, without their callers' parameters", async () => {
      const { error } = await failure('retryable');
      expect(error).toBeInstanceOf(Errors.MoleculerRetryableError);
      expect(error).toMatchObject({ code: 503, type: 'AGAIN', retryable: true, data: { action: 'x.y' } });
      expect((await failure('validation')).error).toBeInstanceOf(Errors.ValidationError);
      const { error: absent } = (await outcome(a.broker.call('b.nothing'))) as { error: Error };
      expect(absent).toBeInstanceOf(Errors.ServiceNotFoundError);
      const { error: late } = (await outcome(a.broker.call('b.hold', { length: 1 }, { timeout: 50 }))) as {
        error: Error;
      };
      expect(late).toBeInstanceOf(Errors.RequestTimeoutError);
    });

    test('of other kinds are sent by name only, and logged where they were thrown', async () => {
      const { error } = await failure('foreign');
      expect(error.name).toBe('TypeError');
      expect(error.message).not.toContain('secret');
      expect(b.log.join()).toContain('hunter2');
      expect(a.log.join()).not.toContain('hunter2');
    });

    test.each(Object.keys(FAILURES))('%s leaks no stack and no secret', async (how) => {
      const { error } = await failure(how);
      const all = JSON.stringify({ ...error, message: error.message, stack: error.stack, cause: error.cause }) ?? '';
      expect(all).not.toMatch(how === 'text' ? /cluster\.ts/ : /secret|cluster\.ts/);
    });

    test('a cycle of calls ends', async () => {
      const { error } = (await outcome(a.broker.call('b.again'))) as { error: Error };
      expect(error).toBeInstanceOf(Errors.MaxCallLevelError);
    });
  });

  test('64 MB arrive intact, and small calls get through in between', async () => {
    const bytes = new Uint8Array(64 * MIB);
    for (let i = 0; i < bytes.length; i += 997) bytes[i] = i & 0xff;
    let isThere = false;
    const digest = a.broker.call('b.digest', { bytes }).finally(() => {
      isThere = true;
    });
    let between = 0;
    while (!isThere) {
      await a.broker.call('b.echo', {});
      if (!isThere) between++;
    }
    expect(await digest).toBe(hash('sha256', bytes));
    expect(between).toBeGreaterThan(10);
    const made = await a.broker.call<Float32Array, { length: number }>('b.make', { length: 4 * MIB });
    expect(made.byteLength).toBe(16 * MIB);
    expect(made.every((value) => value === 0.5)).toBe(true);
    expect((await a.metric('drops_total')) + (await b.metric('drops_total'))).toBe(0);
  });

  test('many large messages at once, in both directions and among three nodes', async () => {
    const calls = Array.from({ length: 18 }, (_, i) => {
      const [from, to] = [
        [a, b],
        [b, a],
        [a, c],
        [c, a],
        [b, c],
        [c, b],
      ][i % 6];
      const bytes = new Uint8Array(1.5 * MIB).fill(i);
      return from.broker.call(`${to.id}.digest`, { bytes }).then((digest) => digest === hash('sha256', bytes));
    });
    expect(await Promise.all(calls)).toEqual(calls.map(() => true));
  });

  test('a message that is too large, or for which the receiver has no room, fails only its own call', async () => {
    const d = await cluster.start('d', { messageMaxBytes: 2 * MIB, incompletePerNodeMaxBytes: 1.5 * MIB });
    await cluster.meet();
    const { error } = (await outcome(a.broker.call('d.make', { length: MIB }))) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ type: 'MESSAGE_TOO_LARGE', code: 500 });
    expect(await outcome(d.broker.call('a.digest', { bytes: new Uint8Array(3 * MIB) }))).toMatchObject({
      error: { type: 'MESSAGE_TOO_LARGE' },
    });
    const refused = await outcome(a.broker.call('d.digest', { bytes: new Uint8Array(1.7 * MIB) }));
    expect(refused).toMatchObject({ error: { retryable: true } });
    expect(await d.metric('drops_total')).toBeGreaterThan(0);
    expect(await a.broker.call('d.echo', { still: 'there' })).toEqual({ still: 'there' });
  });

  test('events reach every node once', async () => {
    await a.broker.broadcast('test.event', { key: 'e' });
    await until('all had it', () => [a, b, c].every(({ runs }) => runs.length > 0));
    for (const { id } of [b, c]) await a.broker.call(`${id}.echo`, {});
    expect([a, b, c].map(({ runs }) => runs)).toEqual([['e'], ['e'], ['e']]);
  });
}
