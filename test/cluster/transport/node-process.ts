/**
 * A node in its own process, so that a test can crash, halt and kill it: `node-process.ts <settings
 * as JSON>`. Answers `{ id, action, params, timeout }` over IPC with `{ id, value }` or `{ id,
 * error }`. The process itself handles `ping`, `metric` and `runs`.
 */
import { ServiceBroker, Transporters } from 'moleculer';
import { pino } from 'pino';
import { Metrics } from '../../../mixins/metrics.ts';
import { brokerOptions } from '../../../moleculer.config.ts';
import { TEST_TRANSPORT_KEYS } from '../../support/store-keys.ts';

export interface ProcessSettings {
  nodeId: string;
  namespace: string;
  redisUrl: string;
  /** Uses Moleculer's own transporter instead of ours. */
  isStock: boolean;
}

export interface Order {
  id: number;
  action: string;
  params: Record<string, unknown>;
}

const { isStock, namespace, ...config }: ProcessSettings = JSON.parse(process.argv[2]);
const metrics = new Metrics();
const options = brokerOptions({
  config: { ...config, transporter: null, dataDir: '/nowhere' },
  log: pino({ level: 'silent' }),
  metrics,
  transportKeys: TEST_TRANSPORT_KEYS,
  namespace,
});
if (isStock) {
  const { hostname, port } = new URL(config.redisUrl);
  const stock = { host: hostname, port: Number(port), maxRetriesPerRequest: 1 };
  options.transporter = new Transporters.Redis(stock);
  options.middlewares = [];
}
const broker = new ServiceBroker(options);
const runs: unknown[] = [];
broker.createService({
  name: config.nodeId,
  actions: {
    count: (ctx: { params: { key: string } }) => void runs.push(ctx.params.key),
    bytes: (ctx: { params: { bytes: Uint8Array } }) => ctx.params.bytes.length,
    hold: () => new Promise(() => undefined),
  },
});

async function obey({ action, params }: Order): Promise<unknown> {
  // Not awaited, like Moleculer's own heartbeats.
  if (action === 'ping') return void broker.ping('nobody', 0);
  if (action === 'metric') {
    const { values } = await metrics.registry.getSingleMetric(`provec_transport_${params.name}`)!.get();
    return values.reduce((sum, { value }) => sum + value, 0);
  }
  if (action === 'runs') return runs;
  return broker.call(action, params);
}

process.on('message', (order: Order) => {
  obey(order).then(
    (value) => process.send!({ id: order.id, value }),
    (error: Error) => process.send!({ id: order.id, error: { name: error.name, message: error.message } }),
  );
});
process.on('disconnect', () => process.exit());
await broker.start();
process.send!({ id: 0, value: 'started' });
