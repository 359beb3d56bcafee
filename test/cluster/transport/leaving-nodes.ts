import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Errors } from 'moleculer';
import { until } from '../../support/until.ts';
import { outcome, type TestNode, TransportCluster, type TransportKind } from './cluster.ts';

const MIB = 1024 * 1024;
/** Long timeouts: large responses take as long as the machine needs. */
const PATIENT = { drainMaxMs: 60_000, acknowledgementWaitMaxMs: 60_000 };

/** Expectations for a node that stops or dies, with any transport. */
export function leavingNodes(means: () => TransportKind): void {
  let cluster: TransportCluster;
  let a: TestNode;
  let b: TestNode;

  beforeEach(async () => {
    cluster = new TransportCluster(means());
    a = await cluster.start('a', PATIENT);
    b = await cluster.start('b', PATIENT);
    await cluster.meet();
  });
  afterEach(() => cluster.stop());

  test('a node that stops answers the calls in flight first, including large ones', async () => {
    const small = a.broker.call<Float32Array, unknown>('b.hold', { length: 1 });
    const large = a.broker.call<Float32Array, unknown>('b.hold', { length: 10 * MIB });
    await until('both are there', () => b.held === 2);
    const stopped = b.stop();
    await until('it stops', () => b.broker.stopping);
    b.release();
    expect((await small).length).toBe(1);
    expect((await large).length).toBe(10 * MIB);
    await stopped;
    await until('it is known to be gone', () => !a.broker.registry.hasService('b', 'b'));
    const { error } = (await outcome(a.broker.call('b.echo'))) as { error: Error };
    expect(error).toBeInstanceOf(Errors.MoleculerRetryableError);
  });

  test('a node that stops waits for its own calls', async () => {
    const answer = a.broker.call<Float32Array, unknown>('b.hold', { length: 3 });
    await until('it is there', () => b.held === 1);
    const stopped = a.stop();
    await until('it stops', () => a.broker.stopping);
    b.release();
    expect((await answer).length).toBe(3);
    await stopped;
  });

  test('calls fail at once when their node ends without notice', async () => {
    const answer = outcome(a.broker.call('b.hold', { length: 1 }));
    await until('it is there', () => b.held === 1);
    await b.broker.transit!.tx.disconnect();
    await until('new calls fail at once', async () => {
      const next = await outcome(a.broker.call('b.echo', {}, { timeout: 500 }));
      return 'error' in next && !(next.error instanceof Errors.RequestTimeoutError);
    });
    expect(await answer).toMatchObject({ error: { retryable: true } });
  });

  test('a timed-out call does not keep its node from stopping', async () => {
    const late = await outcome(a.broker.call('b.hold', { length: 1 }, { timeout: 50 }));
    expect(late).toMatchObject({ error: { name: 'RequestTimeoutError' } });
    await a.stop();
    expect(a.log.join()).not.toContain('gracefully');
  });
}
