import { afterEach, expect, test } from '@jest/globals';
import type { ServiceBroker, Transporters } from 'moleculer';
import { type TestNode, TransportCluster } from '../../cluster/transport/cluster.ts';
import { until } from '../../support/until.ts';

let cluster: TransportCluster;
afterEach(() => cluster.stop());

/** A node in the catalog of Moleculer's registry. */
interface KnownNode {
  available: boolean;
  seq: number;
}

const known = (broker: ServiceBroker, id: string): KnownNode => broker.registry.nodes.get(id) as KnownNode;

/** Leaves the cluster like a process that stops. */
async function leave(node: TestNode): Promise<void> {
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  await node.stop();
}

test('a node that restarts on another port is seen at once, however often its last process changed', async () => {
  cluster = new TransportCluster({ kind: 'TCP' });
  const [a, b] = await cluster.startAll('a', 'b');
  for (let life = 0; life < 2; life++) {
    const c = await cluster.start('c');
    await cluster.meet();
    for (let change = 0; change < 50; change++) c.broker.registry.regenerateLocalRawInfo(true);
    await until('the others have heard of it', () =>
      [a, b].every(({ broker }) => known(broker, 'c').seq === c.broker.registry.nodes.localNode!.seq),
    );
    await leave(c);
    await until('it is gone', () => [a, b].every(({ broker }) => !known(broker, 'c').available));
  }
  const again = await cluster.start('c');
  await cluster.meet();
  expect(await a.broker.call('c.whoCalls')).toBe('a');
  expect(known(a.broker, 'c').seq).toBe(again.broker.registry.nodes.localNode!.seq);
});

test('a node that is gone does not come back without its services because another one mentions its load', async () => {
  cluster = new TransportCluster({ kind: 'TCP' });
  const [a, b, c] = await cluster.startAll('a', 'b', 'c');
  const info = b.broker.registry.getNodeInfo('c');
  await leave(c);
  await until('it is gone', () => !known(a.broker, 'c').available);
  const { tx, packetFrom } = { tx: a.broker.transit!.tx as Transporters.TCP, packetFrom: b.broker.transit!.tx };
  for (const row of [
    [info, 99, 50],
    [99, 50],
  ]) {
    const payload = { ver: '4', sender: 'b', online: { c: row } };
    const data = packetFrom.serialize({ type: 'GOSSIP_RES', target: 'a', payload } as never);
    await tx.receive('GOSSIP_RES', data, null as never);
    expect(known(a.broker, 'c').available).toBe(false);
  }
});
