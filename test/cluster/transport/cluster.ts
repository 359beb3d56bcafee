import { hash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type Context, Errors, type Middleware, ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import type { Cancelled } from '../../../contracts/actions/cancelled.ts';
import { invalidArgument, ProvecError } from '../../../lib/errors.ts';
import type { Keyring } from '../../../lib/secret/keyring.ts';
import { Metrics } from '../../../mixins/metrics.ts';
import { brokerOptions } from '../../../moleculer.config.ts';
import type { Config } from '../../../process/config.ts';
import { StoreError } from '../../../store/port.ts';
import { TRANSPORT_LIMITS, type TransportLimits } from '../../../transport/transport-limits.ts';
import type { Packet } from '../../../transport/undelivered.ts';
import { TEST_TRANSPORT_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

/** Transport between the nodes of a test: Redis at a URL, or TCP. */
export type TransportKind = { kind: 'redis'; url: string } | { kind: 'TCP' };

export interface TestNode {
  readonly id: string;
  readonly broker: ServiceBroker;
  /** Keys of `count` calls, one per execution. */
  readonly runs: string[];
  readonly log: string[];
  /** TCP port; 0 with Redis. */
  readonly port: number;
  /** Lets pending `hold` calls return. */
  release(): void;
  readonly held: number;
  metric(name: string): Promise<number>;
  stop(): Promise<void>;
}

/**
 * `send` puts the packet on the wire. A packet that is not sent is lost without its sender
 * noticing.
 */
export type OnSend = (packet: Packet, send: () => Promise<void>) => Promise<void>;

export const FAILURES: Record<string, () => unknown> = {
  provec: () =>
    new ProvecError('UNAVAILABLE', 'The shard is opening.', {
      retryAfterSeconds: 7,
      cause: new Error('secret of the store'),
    }),
  details: () => invalidArgument('records[3].id', 'a string', 5),
  allow: () => new ProvecError('METHOD_NOT_ALLOWED', 'No.', { allow: ['GET'] }),
  capacity: () => new StoreError('capacity', 'The disk is full.', new Error('secret of the disk')),
  unknown: () => new StoreError('unknown', 'Nobody knows.'),
  foreign: () => Object.assign(new TypeError('secret: password=hunter2'), { data: { vector: [1, 2] }, code: 'SECRET' }),
  text: () => 'secret text',
  validation: () =>
    new Errors.ValidationError('Parameters validation error!', 'BAD', [{ field: 'name', actual: 'secret' }] as never),
  retryable: () => new Errors.MoleculerRetryableError('Again.', 503, 'AGAIN', { action: 'x.y', params: 'secret' }),
};

function nodeService(id: string, node: { runs: string[]; held: (() => void)[] }) {
  return {
    name: id,
    actions: {
      echo: (ctx: Context) => ctx.params,
      level: (ctx: Context) => ctx.level,
      whoCalls: (ctx: Context) => ctx.nodeID,
      digest: (ctx: Context<{ bytes: Uint8Array }>) => hash('sha256', ctx.params.bytes),
      make: (ctx: Context<{ length: number }>) => new Float32Array(ctx.params.length).fill(0.5),
      fail: (ctx: Context<{ how: string }>) => {
        throw FAILURES[ctx.params.how]();
      },
      count: (ctx: Context<{ key: string }>) => {
        node.runs.push(ctx.params.key);
        return ctx.params.key;
      },
      hold: async (ctx: Context<{ length: number }>) => {
        await new Promise<void>((resolve) => node.held.push(resolve));
        return new Float32Array(ctx.params.length).fill(1);
      },
      again: (ctx: Context): Promise<unknown> => ctx.call(`${id}.again`),
      /**
       * Works until cancelled, and makes the node `at` work as well. With `fails`, works until
       * released.
       */
      work: async (ctx: Context<{ at?: string; fails?: boolean }>): Promise<unknown> => {
        const { signal } = ctx.options as { signal?: AbortSignal };
        signal?.addEventListener('abort', () =>
          node.runs.push((signal.reason as Cancelled).isClientGone ? 'client gone' : 'ended'),
        );
        const { at, fails = false } = ctx.params;
        const below = at === undefined ? null : ctx.call(`${at}.work`, {}, { signal } as never);
        if (fails) {
          below?.catch(() => undefined);
          await new Promise<void>((resolve) => node.held.push(resolve));
          throw new ProvecError('KEY_NOT_FOUND', 'None.');
        }
        node.held.push(() => undefined);
        await (below ?? once(signal!, 'abort'));
        throw signal!.reason;
      },
    },
    events: { 'test.event': (ctx: Context<{ key: string }>) => void node.runs.push(ctx.params.key) },
  };
}

type Send = (topic: string, data: Buffer, meta: { packet: Packet }) => Promise<void>;

const wire =
  (onSend: OnSend) =>
  (next: Send): Send =>
  async (topic, data, meta) =>
    onSend(meta.packet, () => next(topic, data, meta));

/** Nodes in their own namespace, which stop together. */
export class TransportCluster {
  readonly nodes: TestNode[] = [];
  readonly namespace: string;
  readonly #means: TransportKind;

  constructor(means: TransportKind, namespace: string = randomUUID()) {
    this.#means = means;
    this.namespace = namespace;
  }

  /** `onSend` intercepts each outgoing packet and decides whether to send it. */
  async start(
    id: string,
    limits: Partial<TransportLimits> = {},
    onSend: OnSend | null = null,
    keys: Keyring = TEST_TRANSPORT_KEYS,
  ): Promise<TestNode> {
    const redis = this.#means.kind === 'redis' ? this.#means.url : null;
    const config: Pick<Config, 'nodeId' | 'transporter' | 'redisUrl' | 'dataDir'> = {
      nodeId: id,
      transporter: redis === null ? 'TCP' : null,
      redisUrl: redis,
      dataDir: '/nowhere',
    };
    const runs: string[] = [];
    const held: (() => void)[] = [];
    const log: string[] = [];
    const metrics = new Metrics();
    const options = brokerOptions({
      config,
      log: pino({ level: 'debug' }, { write: (line) => void log.push(line) }),
      metrics,
      transportKeys: keys,
      namespace: this.namespace,
      limits: { ...TRANSPORT_LIMITS, ...limits },
      tcpUrls: this.nodes.map((node) => `127.0.0.1:${node.port}/${node.id}`).join(','),
    });
    // The first middleware is closest to the wire.
    if (onSend)
      options.middlewares?.unshift({ name: 'OnSend', transporterSend: wire(onSend) } as unknown as Middleware);
    const broker = new ServiceBroker(options);
    broker.createService(nodeService(id, { runs, held }));
    const node: TestNode = {
      id,
      broker,
      runs,
      log,
      get port() {
        return Number((broker.transit!.tx as unknown as { opts: { port?: number } }).opts.port ?? 0);
      },
      release: () => {
        for (const answer of held.splice(0)) answer();
      },
      get held() {
        return held.length;
      },
      metric: async (name) => {
        const { values } = await metrics.registry.getSingleMetric(`provec_transport_${name}`)!.get();
        return values.reduce((sum, { value }) => sum + value, 0);
      },
      stop: () => broker.stop(),
    };
    this.nodes.push(node);
    await broker.start();
    return node;
  }

  /** Starts several nodes and waits until each sees all others. */
  async startAll(...ids: string[]): Promise<TestNode[]> {
    const started: TestNode[] = [];
    for (const id of ids) started.push(await this.start(id));
    await this.meet();
    return started;
  }

  async meet(): Promise<void> {
    for (const { broker } of this.nodes) {
      for (const { id } of this.nodes)
        await until(`${broker.nodeID} sees ${id}`, () => broker.registry.hasService(id, id));
    }
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) node.release();
    await Promise.all(this.nodes.splice(0).map((node) => node.stop()));
  }
}

/** How a promise settled. */
export async function outcome<T>(
  promise: Promise<T>,
): Promise<{ value: T } | { error: Error & Record<string, unknown> }> {
  try {
    return { value: await promise };
  } catch (error) {
    return { error: error as Error & Record<string, unknown> };
  }
}
