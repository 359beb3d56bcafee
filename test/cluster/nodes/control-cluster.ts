import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { type ActionName, type Actions, call } from '../../../contracts/actions/call.ts';
import { Placement } from '../../../lib/placement/placement.ts';
import { type Clock, SYSTEM_CLOCK } from '../../../lib/time/clock.ts';
import { Metrics } from '../../../mixins/metrics.ts';
import { brokerOptions } from '../../../moleculer.config.ts';
import { readConfig } from '../../../process/config.ts';
import { runtimeOf } from '../../../process/runtime.ts';
import keysService from '../../../services/keys/keys.service.ts';
import meteringService from '../../../services/metering/metering.service.ts';
import { type Store, StoreError } from '../../../store/port.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { TEST_KEYS, TEST_TRANSPORT_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

/** How a node reaches the store: normally; with errors; or without ever getting a response. */
type Reach = 'good' | 'none' | 'silent';

type StorePart = 'usage' | 'keys' | 'catalog';

/** A node with the keys and metering services, and the faults that a test can cause on it. */
export interface ControlNode {
  readonly id: string;
  readonly broker: ServiceBroker;
  readonly store: Store;
  /** Calls an action on this node, without a network hop. */
  call<N extends ActionName>(action: N, params: Actions[N]['params']): Promise<Actions[N]['result']>;
  /** Applies from now on. Pending calls keep waiting until `reach` changes again, and then fail. */
  reach: Reach;
  /** Parts of the store that `reach` applies to; null for all. */
  parts: readonly StorePart[] | null;
  /** While true, no messages arrive or leave, and connections stay open. */
  isCut: boolean;
  /**
   * Crashes the node: nothing of it reaches the store or other nodes any more, and its memory is
   * lost.
   */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

interface Wire {
  send(...args: unknown[]): Promise<unknown>;
  receive(...args: unknown[]): unknown;
  opts: { port?: number };
}

export interface ControlClusterOptions {
  plans: Record<string, Record<string, number>>;
  clock?: Clock;
}

/** Nodes over one real store, connected by TCP. */
export class ControlCluster {
  readonly nodes: ControlNode[] = [];
  readonly store: Store;
  readonly folder: string;
  readonly #options: ControlClusterOptions;
  readonly #namespace = randomUUID();

  private constructor(store: Store, folder: string, options: ControlClusterOptions) {
    this.store = store;
    this.folder = folder;
    this.#options = options;
  }

  static async open(options: ControlClusterOptions): Promise<ControlCluster> {
    const folder = await mkdtemp(join(tmpdir(), 'provec-control-'));
    return new ControlCluster(await openSqliteStore(folder, { keys: TEST_KEYS }), folder, options);
  }

  /** Starts nodes and waits until each sees all others. */
  async start(...ids: string[]): Promise<ControlNode[]> {
    const started: ControlNode[] = [];
    for (const id of ids) started.push(await this.#start(id));
    for (const { broker } of this.nodes) {
      for (const { id } of this.nodes)
        await until(`${broker.nodeID} sees ${id}`, () =>
          broker.registry
            .getServiceList({ onlyAvailable: true })
            .some(({ nodeID, name }) => nodeID === id && name === 'metering'),
        );
    }
    return started;
  }

  async end(): Promise<void> {
    for (const node of [...this.nodes]) await node.stop();
    await this.store.close();
    await rm(this.folder, { recursive: true });
  }

  async #start(id: string): Promise<ControlNode> {
    const { plans, clock = SYSTEM_CLOCK } = this.#options;
    const config = readConfig({
      PROVEC_NODE_ID: id,
      PROVEC_TRANSPORTER: 'TCP',
      PROVEC_DATA_DIR: this.folder,
      PROVEC_PLANS: JSON.stringify(plans),
    });
    const log = pino({ level: 'silent' });
    const tcpUrls = this.nodes.map(({ broker }) => `127.0.0.1:${wireOf(broker).opts.port}/${broker.nodeID}`).join(',');
    const broker = new ServiceBroker(
      brokerOptions({
        config,
        log,
        metrics: new Metrics(),
        namespace: this.#namespace,
        tcpUrls,
        transportKeys: TEST_TRANSPORT_KEYS,
      }),
    );
    const state = new NodeState();
    const store = reachedBy(this.store, state);
    const runtime = runtimeOf({ config, store, clock, log });
    broker.createService(keysService(runtime));
    broker.createService(meteringService(runtime));
    broker.createService({ name: 'collections', actions: { removeAll: () => null } });
    const wire = wireOf(broker);
    const [send, receive] = [wire.send.bind(wire), wire.receive.bind(wire)];
    wire.send = async (...args) => (state.isCut ? undefined : send(...args));
    wire.receive = (...args) => (state.isCut ? undefined : receive(...args));
    await broker.start();
    const leave = async (): Promise<void> => {
      this.nodes.splice(this.nodes.indexOf(node), 1);
      await broker.stop();
    };
    const node = Object.assign(state, {
      id,
      broker,
      store,
      call: <N extends ActionName>(action: N, params: Actions[N]['params']) =>
        call(broker, action, params, { nodeID: id }),
      async kill() {
        state.isCut = true;
        state.reach = 'none';
        await leave();
      },
      stop: async () => {
        state.reach = state.reach === 'silent' ? 'none' : state.reach;
        await leave();
      },
    });
    this.nodes.push(node);
    return node;
  }
}

/** Nodes in the order in which they become responsible for an account. */
export function inOrderOf(accountId: string, nodes: readonly ControlNode[]): ControlNode[] {
  const placement = new Placement(nodes.map(({ id }) => ({ node: id, weight: 1 })));
  const names = placement.order(accountId, nodes.length);
  return names.map((name) => nodes.find(({ id }) => id === name)!);
}

function wireOf(broker: ServiceBroker): Wire {
  return broker.transit!.tx as unknown as Wire;
}

class NodeState {
  isCut = false;
  parts: readonly StorePart[] | null = null;
  #reach: Reach = 'good';
  #unanswered: ((error: StoreError) => void)[] = [];

  get reach(): Reach {
    return this.#reach;
  }

  set reach(reach: Reach) {
    this.#reach = reach;
    for (const reject of this.#unanswered.splice(0)) reject(new StoreError('unknown', 'No answer came.'));
  }

  /** Throws, or never resolves, according to `reach`. */
  async through(part: StorePart): Promise<void> {
    if (this.#reach === 'good' || this.parts?.includes(part) === false) return;
    if (this.#reach === 'none') throw new StoreError('unavailable', 'The store is out of reach.');
    await new Promise<never>((_, reject) => this.#unanswered.push(reject));
  }
}

/** The store as this node reaches it. */
function reachedBy(store: Store, state: NodeState): Store {
  const part = <N extends StorePart>(name: N): Store[N] =>
    new Proxy(store[name], {
      get(target, method) {
        const value: unknown = Reflect.get(target, method);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          await state.through(name);
          return value.apply(target, args) as unknown;
        };
      },
    });
  return { ...store, usage: part('usage'), keys: part('keys'), catalog: part('catalog') };
}
