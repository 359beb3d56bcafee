import { afterEach, expect, test } from '@jest/globals';
import { Cancelled } from '../../../contracts/actions/cancelled.ts';
import { TransportCluster } from '../../cluster/transport/cluster.ts';
import { until } from '../../support/until.ts';

let cluster: TransportCluster;
afterEach(() => cluster.stop());

test('a cancelled call fails at once, and so do its calls on other nodes', async () => {
  cluster = new TransportCluster({ kind: 'TCP' });
  const [a, b, c] = await cluster.startAll('a', 'b', 'c');
  const client = new AbortController();
  const work = a.broker.call('b.work', { at: 'c' }, { signal: client.signal } as never);
  await until('all work', () => b.held === 1 && c.held === 1);
  const reason = new Cancelled(true);
  client.abort(reason);
  await expect(work).rejects.toBe(reason);
  await until('both have ended', () => [b, c].every(({ runs }) => runs.includes('client gone')));
  // A cancellation is not an error on any node.
  for (const { log } of [a, b, c]) expect(log.filter((line) => JSON.parse(line).level >= 40)).toEqual([]);
  await expect(a.broker.call('b.work', {}, { signal: client.signal } as never)).rejects.toBe(reason);
});

test("a failed call's calls on other nodes are cancelled", async () => {
  cluster = new TransportCluster({ kind: 'TCP' });
  const [a, b, c] = await cluster.startAll('a', 'b', 'c');
  const work = a.broker.call('b.work', { at: 'c', fails: true });
  await until('both work', () => b.held === 1 && c.held === 1);
  b.release();
  await expect(work).rejects.toThrow('None.');
  await until('the other has ended', () => c.runs.includes('ended'));
});
