import { afterEach, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { DEFAULT_WEIGHT, Placement } from '../../../lib/placement/placement.ts';
import { announceDraining, shardNodeMetadata, shardNodesOf } from '../../../mixins/shard-router/shard-nodes.ts';
import { until } from '../../support/until.ts';

const brokers: ServiceBroker[] = [];
afterEach(async () => {
  await Promise.all(brokers.splice(0).map((broker) => broker.stop()));
});

async function start(nodeID: string, memoryLimitMiB: number | null, holdsShards = true): Promise<ServiceBroker> {
  const metadata = memoryLimitMiB === null ? {} : shardNodeMetadata({ memoryLimitMiB });
  const broker = new ServiceBroker({ nodeID, namespace: 'places', transporter: 'Fake', logger: false, metadata });
  if (holdsShards) broker.createService({ name: 'shards', actions: { query: () => null } });
  brokers.push(broker);
  await broker.start();
  return broker;
}

const MIB = 2 ** 20;

test('every node knows the weights of the shard nodes and which of them leave, so all choose the same node for a shard', async () => {
  const [gateway, other] = [await start('gateway', null, false), await start('other', null, false)];
  const large = await start('large', 3_000);
  const small = await start('small', 1_000);
  await start('silent', null);
  const all = [gateway, other, large, small];
  await until('all know all', () => all.every((broker) => shardNodesOf(broker).length === 3));
  const placementAt = (broker: ServiceBroker): Placement =>
    new Placement(shardNodesOf(broker).flatMap(({ draining, ...place }) => (draining ? [] : [place])));
  const shards = Array.from({ length: 2_000 }, (_, at) => `c.${at}`);
  const named = (broker: ServiceBroker) => shards.map((shard) => placementAt(broker).preferred(shard));
  for (const broker of all) {
    const places = new Map(shardNodesOf(broker).map((place) => [place.node, place]));
    expect(places.get('large')).toEqual({ node: 'large', weight: 3_000 * MIB, draining: false });
    expect(places.get('small')).toEqual({ node: 'small', weight: 1_000 * MIB, draining: false });
    expect(places.get('silent')).toEqual({ node: 'silent', weight: DEFAULT_WEIGHT, draining: false });
  }
  expect(named(other)).toEqual(named(gateway));
  expect(named(large)).toEqual(named(gateway));
  const share = named(gateway).filter((node) => node === 'large').length / shards.length;
  expect(share).toBeGreaterThan(0.53);
  expect(share).toBeLessThan(0.66);

  announceDraining(large);
  await until('all know that it leaves', () =>
    all.every((broker) => shardNodesOf(broker).some(({ node, draining }) => node === 'large' && draining)),
  );
  for (const broker of all) expect(named(broker)).not.toContain('large');
  expect(named(small)).toEqual(named(gateway));
});
