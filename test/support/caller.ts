import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { Metrics } from '../../mixins/metrics.ts';
import { brokerOptions } from '../../moleculer.config.ts';
import type { ServiceName } from '../../process/service-names.ts';
import { TEST_TRANSPORT_KEYS } from './store-keys.ts';

/**
 * Starts a node without services next to the nodes of `dataDir` on this machine, to call `service`.
 */
export async function startCaller(dataDir: string, service: ServiceName): Promise<ServiceBroker> {
  const broker = new ServiceBroker(
    brokerOptions({
      config: { nodeId: 'caller', transporter: 'TCP', redisUrl: null, dataDir },
      log: pino({ level: 'silent' }),
      metrics: new Metrics(),
      transportKeys: TEST_TRANSPORT_KEYS,
    }),
  );
  await broker.start();
  await broker.waitForServices(service, 30_000);
  return broker;
}
