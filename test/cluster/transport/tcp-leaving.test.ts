import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Transporters } from 'moleculer';
import { until } from '../../support/until.ts';
import { type TestNode, TransportCluster } from './cluster.ts';
import { leavingNodes } from './leaving-nodes.ts';

leavingNodes(() => ({ kind: 'TCP' }));

describe('without gossip', () => {
  const cluster = new TransportCluster({ kind: 'TCP' });
  let a: TestNode;
  let others: TestNode[];
  beforeEach(async () => {
    [a, ...others] = await cluster.startAll('a', 'b', 'c');
    for (const { broker } of [a, ...others]) transporterOf(broker).stopTimers();
  });
  afterEach(() => cluster.stop());

  function transporterOf({ transit }: TestNode['broker']): Transporters.TCP {
    return transit!.tx as unknown as Transporters.TCP;
  }

  const knowing = () => others.filter(({ broker }) => broker.registry.hasService('a', 'a')).map(({ id }) => id);

  test('a node tells all others what it no longer serves', async () => {
    expect(knowing()).toEqual(['b', 'c']);
    await a.broker.destroyService('a');
    await until('nobody takes it to serve', () => knowing().length === 0);
  });

  test('a node that is stopping gets no more calls while it still works', async () => {
    const answer = others[0]!.broker.call<Float32Array, unknown>('a.hold', { length: 3 });
    await until('the call is there', () => a.held === 1);
    const stopped = a.stop();
    await until('nobody takes it to serve', () => knowing().length === 0);
    a.release();
    expect((await answer).length).toBe(3);
    await stopped;
  });

  test('nodes do not lose each other because of a node that has lost them', async () => {
    const [b] = others;
    const teller = transporterOf(b!.broker) as unknown as { prepublish(packet: object): Promise<void> };
    const offline = { a: b!.broker.registry.nodes.get('a')!.seq + 1 };
    for (const type of ['GOSSIP_REQ', 'GOSSIP_RES'])
      await teller.prepublish({ type, target: 'c', payload: { offline } });
    await b!.broker.ping('c');
    expect(knowing()).toEqual(['b', 'c']);
  });

  test('a node sends nothing after its end', async () => {
    const transporter = transporterOf(a.broker) as unknown as { sendGossipRequest(): void; publish(): Promise<void> };
    await a.stop();
    const publish = jest.spyOn(transporter, 'publish');
    transporter.sendGossipRequest();
    expect(publish).not.toHaveBeenCalled();
  });

  test('a node that is considered gone does not come back without its services', async () => {
    const [b] = others;
    const { nodes } = b!.broker.registry;
    const hearing = transporterOf(b!.broker) as unknown as { processGossipResponse(message: Buffer): void };
    const heard = hearing.processGossipResponse.bind(hearing);
    let told = 0;
    hearing.processGossipResponse = (message) => {
      heard(message);
      told++;
    };
    nodes.disconnected('a', false);
    Object.assign(a.broker.registry.nodes.localNode!, { cpu: 10, cpuSeq: 1_000 });
    a.broker.createService({ name: 'more' });
    await until('it has told of more', () => told > 0);
    const known = nodes.get('a')!;
    expect(known.available).toBe(b!.broker.registry.hasService('a', 'a'));
  });
});
