import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type Backing, type BackingServices, startBacking } from '../../support/backing-services.ts';
import { type ClusterOptions, ClusterProcess } from '../../support/cluster-process.ts';
import { randomFrom } from '../../support/random.ts';
import { seed } from '../../support/seed.ts';
import { until } from '../../support/until.ts';
import { AliasClient, aliasTargets, type Puts } from './alias-client.ts';
import { audit } from './audit.ts';
import { ChaosClient, idsOf } from './client.ts';
import { LogObserver } from './log-observer.ts';
import { describeOutage, type ObservedOutage, outageOf } from './outage.ts';
import { Recorder } from './recorder.ts';
import { Verifier } from './verifier.ts';

const CLIENTS = 8;
const ALIAS_CLIENTS = 3;
const SHARDS = 8;
const COLLECTION = 'chaos';
const CALM_MS = 1_000;
const TROUBLE_MAX_MS = 300_000;

export interface ChaosOptions extends Partial<ClusterOptions> {
  name: string;
  /** Backing services of the cluster; they end with the run. */
  backing: Backing | BackingServices;
  /** Starts separate servers, which the run may kill and halt. */
  isOwn?: boolean;
  replicas?: number;
  /** Whether every request must succeed. */
  isFlawless?: boolean;
  /** Disturbs the cluster while the clients run. */
  trouble(cluster: ClusterProcess, random: () => number, collectionId: string): Promise<void>;
}

/** What clients observed, and a sentence per broken promise. */
export interface ChaosResult extends ObservedOutage {
  faults: string[];
}

const chaosSeed = seed % 1_000_000;

/**
 * Runs eight record clients, three alias clients and one verifier against a cluster during
 * `trouble`. Then waits until the cluster is calm and audits all responses.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { name, backing, replicas = 0, isOwn, isFlawless = false, trouble, ...clusterOptions } = options;
  const services = typeof backing === 'string' ? await startBacking(backing, isOwn) : backing;
  const title = `${name}, ${services.name}, seed ${chaosSeed}`;
  const cluster = await ClusterProcess.start(services, { shardNodes: 3, ...clusterOptions });
  try {
    const result = await observed(cluster, replicas, trouble);
    process.stderr.write(`${title}: ${describeOutage(result)}\n`);
    if (result.faults.length > 0 || (isFlawless && result.failures.length > 0)) cluster.printLogs();
    return result;
  } catch (error) {
    process.stderr.write(`${title}: failed\n`);
    cluster.printLogs();
    throw error;
  } finally {
    await cluster.dispose();
  }
}

async function observed(
  cluster: ClusterProcess,
  replicas: number,
  trouble: ChaosOptions['trouble'],
): Promise<ChaosResult> {
  const random = randomFrom(chaosSeed);
  const created = await cluster.api<{ collection: { id: string } }>('POST', '/collections', {
    name: COLLECTION,
    dimensions: 3,
    shards: SHARDS,
    replicas,
  });
  if (created.status !== 201) throw new Error(`The collection was not made: ${JSON.stringify(created.body)}`);
  const { id } = created.body.collection;
  const recorder = new Recorder(() => cluster.gatewayUrl(), COLLECTION);
  const observer = new LogObserver(cluster.store, id, SHARDS);
  const end = new AbortController();
  const clients = clientsOf(recorder, await aliasTargets(cluster.api, random));
  const observing = observer.run(end.signal);
  const running = Promise.all(
    Object.values(clients)
      .flat()
      .map((client) => client.run(end.signal)),
  );
  let endMs: number;
  try {
    await until('every shard has an owner', async () => {
      const owners = await cluster.store.owners.list(id);
      return owners.filter(({ holder }) => holder).length === SHARDS;
    });
    await delay(CALM_MS);
    await inTime(trouble(cluster, random, id));
    await delay(CALM_MS);
  } finally {
    endMs = performance.now();
    end.abort();
    await running;
    await observing;
  }
  const outage = outageOf(recorder.requests, SHARDS, endMs);
  await cluster.ready();
  for (const own of ['shared', ...clients.records.map((_, client) => `own-${client}`)])
    for (const record of idsOf(own)) if (!recorder.operations.has(record)) recorder.operations.set(record, []);
  const before = { write_count: 0, query_count: 0 };
  const faults = await audit({ api: cluster.api, collection: COLLECTION, recorder, observer, before });
  const told = [...clients.records, ...clients.verifiers].flatMap((client) => client.faults);
  return { ...outage, faults: [...told, ...faults, ...idleFaults(recorder, clients.verifiers)] };
}

function clientsOf(recorder: Recorder, puts: Puts) {
  const randomOf = (client: number) => randomFrom(chaosSeed * 1_000 + client);
  const each = <T>(first: number, count: number, make: (client: number) => T): T[] =>
    Array.from({ length: count }, (_, at) => make(first + at));
  return {
    records: each(0, CLIENTS, (client) => new ChaosClient(client, recorder, randomOf(client), SHARDS)),
    aliases: each(CLIENTS, ALIAS_CLIENTS, (client) => new AliasClient(client, recorder, randomOf(client), puts)),
    verifiers: [new Verifier(CLIENTS + ALIAS_CLIENTS, recorder)],
  };
}

/** Alias clients and verifiers must have had effect; otherwise the run shows nothing about them. */
function idleFaults({ aliases }: Recorder, verifiers: Verifier[]): string[] {
  const isPut = [...aliases.values()].flat().some(({ kind, answered }) => kind === 'write' && answered !== null);
  return [
    ...(isPut ? [] : ['no alias was put']),
    ...(verifiers.some(({ ended }) => ended > 0) ? [] : ['no verification came to a result']),
  ];
}

/** Throws when the trouble does not end in time, so that the logs are printed. */
function inTime(trouble: Promise<void>): Promise<void> {
  const late = AbortSignal.timeout(TROUBLE_MAX_MS);
  return Promise.race([
    trouble,
    once(late, 'abort').then(() => Promise.reject(new Error('The trouble does not end.'))),
  ]);
}

/** Picks a random shard node that holds shards of the collection. */
export async function ownerOf(cluster: ClusterProcess, collectionId: string, random: () => number): Promise<string> {
  const holders = [...(await cluster.holdings(collectionId)).keys()];
  return holders[Math.floor(random() * holders.length)]!;
}
