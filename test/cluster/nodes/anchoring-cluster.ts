import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceBroker } from 'moleculer';
import { type ActionName, type Actions, call } from '../../../contracts/actions/call.ts';
import { SYSTEM_CLOCK } from '../../../lib/time/clock.ts';
import { readConfig } from '../../../process/config.ts';
import { runtimeOf } from '../../../process/runtime.ts';
import anchoringService from '../../../services/anchoring/anchoring.service.ts';
import type { LedgerClient } from '../../../services/anchoring/ledger/ledger-client.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import type { Store } from '../../../store/port.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { LedgerRelay, type Passing } from '../../support/ledger-relay.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';
import { TransactionWatch } from '../../support/transaction-watch.ts';
import { until } from '../../support/until.ts';
import { headOf, newCollection, rpc, SILENT } from '../../unit/services/anchoring/fixture.ts';
import { type TestNode, TransportCluster } from '../transport/cluster.ts';
import { gated, InstanceGate } from './gate.ts';

/** How an instance sees the other instances' rows. */
interface Sight {
  /**
   * Whether it sees no other instance, and therefore considers itself responsible for every
   * collection.
   */
  isBlind: boolean;
  /** Number of row reads by waiting requests. */
  waitReads: number;
}

/** One instance of the anchoring service on its own node. */
export class Instance {
  readonly gate: InstanceGate;
  readonly node: TestNode;
  readonly sight: Sight;

  constructor(gate: InstanceGate, node: TestNode, sight: Sight) {
    this.gate = gate;
    this.node = node;
    this.sight = sight;
  }

  get broker(): ServiceBroker {
    return this.node.broker;
  }

  /** Calls this instance directly. */
  ask<N extends ActionName>(name: N, params: Actions[N]['params']): Promise<Actions[N]['result']> {
    return call(this.broker, name, params, { nodeID: this.node.id, timeout: 0 });
  }

  submit(row: CollectionRow, cut: Actions['anchoring.submit']['params']['cut'], waitMs: number) {
    return this.ask('anchoring.submit', { collectionId: row.id, cut, waitMs });
  }
}

/**
 * Instances of the anchoring service over one real store and one real ledger. A watch observes
 * every transaction.
 */
export class AnchoringCluster {
  readonly instances: Instance[] = [];
  readonly store: Store;
  readonly watch: TransactionWatch;
  readonly client: LedgerClient;
  /** What the network does to a transaction; by default, it arrives. */
  onSend: (passing: Passing, arrive: () => Promise<string>) => Promise<string> = (_, arrive) => arrive();
  /** Number of account reads that got the response set by `answerAccountsWith`. */
  answeredBehind = 0;
  readonly #folder: string;
  readonly #relay: LedgerRelay;
  readonly #cluster = new TransportCluster({ kind: 'TCP' });
  readonly #gates = new Map<string, InstanceGate>();

  private constructor(folder: string, store: Store, relay: LedgerRelay, client: LedgerClient) {
    this.#folder = folder;
    this.store = store;
    this.#relay = relay;
    this.client = client;
    this.watch = new TransactionWatch(relay.ledgerUrl, client);
    relay.intercept = (passing) => this.#pass(passing);
  }

  static async open(instances: number): Promise<AnchoringCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'provec-cluster-'));
    const store = await openSqliteStore(folder, { keys: TEST_KEYS });
    const relay = await LedgerRelay.open();
    const cluster = new AnchoringCluster(folder, store, relay, await relay.client('authority'));
    for (let count = 0; count < instances; count++) await cluster.start();
    return cluster;
  }

  /** Starts another instance. */
  async start(): Promise<Instance> {
    const id = `anchoring-${this.instances.length}-${randomUUID().slice(0, 8)}`;
    const gate = new InstanceGate();
    this.#gates.set(`/${id}`, gate);
    const store = gated(this.store, gate);
    const sight: Sight = { isBlind: false, waitReads: 0 };
    const anchors = new Proxy(store.anchors, {
      get(target, name) {
        if (name === 'getMany') sight.waitReads += 1;
        if (name === 'instances' && sight.isBlind) return async () => [];
        return Reflect.get(target, name);
      },
    });
    const config = readConfig({ ...this.#relay.environment, PROVEC_DATA_DIR: this.#folder });
    const node = await this.#cluster.start(id);
    const runtime = runtimeOf({ config, store: { ...store, anchors }, clock: SYSTEM_CLOCK, log: SILENT });
    // As an embedded ledger, so that no rate is kept for the sake of others.
    node.broker.createService(anchoringService(runtime, { url: `${this.#relay.url}/${id}`, keepOf: () => undefined }));
    node.broker.createService({
      name: 'shards',
      actions: {
        headAt: ({ params }: { params: Actions['shards.headAt']['params'] }) => headOf(params.shard.index, params.seq),
      },
    });
    const instance = new Instance(gate, node, sight);
    this.instances.push(instance);
    for (const { broker } of this.instances) {
      for (const other of this.instances)
        await until(`${broker.nodeID} sees ${other.node.id}`, () =>
          broker.registry.actions.isAvailable('anchoring.submit')
            ? broker.registry.actions.get('anchoring.submit')?.getEndpointByNodeID(other.node.id)
            : null,
        );
    }
    return instance;
  }

  /**
   * Waits until all instances know each other, so that exactly one is responsible for each
   * collection.
   */
  async settle(): Promise<void> {
    const { length } = this.instances;
    await until('all write beats', async () => (await this.store.anchors.instances()).length === length);
    const beats = async () => (await this.store.anchors.instances()).reduce((sum, { beat }) => sum + beat, 0);
    const start = await beats();
    await until('all have looked', async () => (await beats()) >= start + 2 * length);
  }

  async collection(shards = 1): Promise<CollectionRow> {
    const row = await newCollection(this.store, shards);
    await this.watch.add(row.id);
    return row;
  }

  async onChainVersion(row: CollectionRow): Promise<number | null> {
    const account = await this.client.read(row.id);
    return account.status === 'found' ? (account.fields?.version ?? null) : null;
  }

  /** The collection's current account on the ledger. */
  async account(row: CollectionRow): Promise<unknown> {
    const params = [await this.client.address(row.id), { encoding: 'base64', commitment: 'confirmed' }];
    return (await rpc<{ value: unknown }>(this.watch.ledgerUrl, 'getAccountInfo', params)).value;
  }

  /**
   * Answers every account read with this account, like a ledger node that is behind; null restores
   * the real responses.
   */
  answerAccountsWith(value: unknown): void {
    this.#relay.rewrite = (method, answer) => {
      if (value === null || method !== 'getAccountInfo') return answer;
      this.answeredBehind += 1;
      const { result, ...rest } = JSON.parse(answer) as { result: object };
      return JSON.stringify({ ...rest, result: { ...result, value } });
    };
  }

  /** Opens every gate and ends everything. */
  async end(): Promise<void> {
    for (const { gate } of this.instances) gate.open();
    await this.#cluster.stop();
    await this.#relay.close();
    await this.store.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #pass(passing: Passing): Promise<string> {
    const gate = this.#gates.get(passing.path)!;
    const { method, params } = JSON.parse(passing.asked) as { method: string; params: unknown[] };
    if (method !== 'sendTransaction') return gate.call(null, passing.forward);
    const arrive = () => this.watch.pass(params[0] as string, passing.forward);
    return gate.call('send', () => this.onSend(passing, arrive));
  }
}
