import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { type BackingServices, startBacking } from '../../../support/backing-services.ts';
import { PrivateNetwork } from '../../../support/private-network.ts';
import { TcpRelay } from '../../../support/tcp-relay.ts';
import { ownerOf, runChaos } from '../chaos-run.ts';

const NODES = 3;
const CUT_OFF_MS = 12_000;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (let end = endings.pop(); end; end = endings.pop()) await end();
});

/** Shard nodes, each with its own link to MongoDB and Redis. */
async function wired(network: PrivateNetwork, { environment, redis, mongo }: BackingServices) {
  const environments = new Map<string, Record<string, string>>();
  for (let number = 0; number < NODES; number++) {
    const id = `shards-${number}`;
    await network.add(id);
    const at = async (port: number): Promise<string> => {
      const relay = await TcpRelay.start(network.hostOf(id), port);
      endings.push(() => relay.stop());
      return relay.address;
    };
    const store = new URL(environment.PROVEC_MONGO_URL!);
    store.host = await at(Number(new URL(mongo!.url).port));
    environments.set(id, { PROVEC_MONGO_URL: store.href, PROVEC_REDIS_URL: `redis://${await at(redis!.port)}` });
  }
  return environments;
}

test('a node that holds shards is cut off and reconnects', async () => {
  const network = new PrivateNetwork();
  endings.push(() => network.end());
  const services = await startBacking('MongoDB + Redis', true);
  const environments = await wired(network, services);
  const result = await runChaos({
    name: `an owner is cut off for ${CUT_OFF_MS / 1000} s and comes back`,
    backing: services,
    under: (id) => (environments.has(id) ? network.under(id) : []),
    environmentOf: (id) => environments.get(id) ?? {},
    async trouble(cluster, random, collectionId) {
      const id = await ownerOf(cluster, collectionId, random);
      await network.cut(id);
      await delay(CUT_OFF_MS);
      await network.mend(id);
      await delay(6_000);
    },
  });
  expect(result.faults).toEqual([]);
  expect(result.shardAwayMs).toBeLessThan(CUT_OFF_MS + 3_000);
}, 240_000);
