import { afterAll, expect, test } from '@jest/globals';
import { silenceMs } from '../../../transport/node-silence.ts';
import { TransportCluster } from '../../cluster/transport/cluster.ts';

const cluster = new TransportCluster({ kind: 'TCP' });
afterAll(() => cluster.stop());

test('idle nodes over TCP, which has no heartbeats, do not consider each other silent', async () => {
  for (const { broker } of await cluster.startAll('a', 'b'))
    expect(silenceMs(broker, performance.now() + 60_000)).toBe(0);
});
