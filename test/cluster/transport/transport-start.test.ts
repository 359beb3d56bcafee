import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { describe, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { Metrics } from '../../../mixins/metrics.ts';
import { brokerOptions } from '../../../moleculer.config.ts';
import { ConfigError, readConfig } from '../../../process/config.ts';
import { transportOf } from '../../../transport/transport.ts';
import { TRANSPORT_LIMITS } from '../../../transport/transport-limits.ts';
import { TEST_TRANSPORT_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

describe('variables', () => {
  test.each([
    [{}, 'none'],
    [{ PROVEC_REDIS_URL: 'redis://localhost' }, 'redis'],
    [{ PROVEC_REDIS_URL: 'rediss://user:pass@redis.example:6380/0' }, 'redis'],
    [{ PROVEC_TRANSPORTER: 'TCP' }, 'TCP'],
    [{ PROVEC_TRANSPORTER: 'none', PROVEC_REDIS_URL: 'redis://localhost' }, 'none'],
  ])('%j: %s', (environment, transport) => {
    expect(transportOf(readConfig(environment))).toBe(transport);
  });

  test.each([
    [{ PROVEC_REDIS_URL: 'http://user:hunter2@localhost' }],
    [{ PROVEC_REDIS_URL: 'hunter2' }],
    [{ PROVEC_REDIS_URL: 'redis:hunter2' }],
    [{ PROVEC_TRANSPORTER: 'hunter2' }],
    [{ PROVEC_NODE_ID: 'hunter2 with spaces' }],
    [{ PROVEC_NODE_ID: 'hunter2|4445' }],
  ])('%j is refused without being repeated', (environment) => {
    expect(() => readConfig(environment)).toThrow(ConfigError);
    expect(() => readConfig(environment)).toThrow(
      new RegExp(`^${Object.keys(environment)[0]} must be (?!.*hunter2).*\\.$`),
    );
  });

  test('a node has its configured name, or one of host and process', () => {
    const named = (environment: Record<string, string>) =>
      brokerOptions({
        config: readConfig(environment),
        log,
        metrics: new Metrics(),
        transportKeys: TEST_TRANSPORT_KEYS,
      }).nodeID;
    expect(named({ PROVEC_NODE_ID: 'shards-0' })).toBe('shards-0');
    expect(named({})).toMatch(new RegExp(`-${process.pid}$`));
  });
});

test('a start without Redis is refused in one sentence that contains no password', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as { port: number };
  closed.close();
  const config = readConfig({ PROVEC_REDIS_URL: `redis://:hunter2@127.0.0.1:${port}` });
  const limits = { ...TRANSPORT_LIMITS, redisAtStartMaxMs: 300 };
  const broker = new ServiceBroker(
    brokerOptions({ config, log, metrics: new Metrics(), limits, transportKeys: TEST_TRANSPORT_KEYS }),
  );
  await expect(broker.start()).rejects.toThrow(new RegExp(`^Redis at 127\\.0\\.0\\.1:${port} cannot be reached\\.$`));
  await broker.stop();
});

describe('TCP on one machine', () => {
  const start = async (dataDir: string, nodeId: string) => {
    const config = readConfig({ PROVEC_TRANSPORTER: 'TCP', PROVEC_DATA_DIR: dataDir, PROVEC_NODE_ID: nodeId });
    const broker = new ServiceBroker(
      brokerOptions({ config, log, metrics: new Metrics(), transportKeys: TEST_TRANSPORT_KEYS }),
    );
    broker.createService({ name: nodeId, actions: { hello: () => nodeId } });
    await broker.start();
    return broker;
  };

  test('nodes of one data folder find each other, others do not, and nothing listens beyond the loopback', async () => {
    const folder = `/nowhere/${process.pid}`;
    const brokers = [await start(folder, 'one'), await start(`${folder}-else`, 'else'), await start(folder, 'two')];
    const [one, other, two] = brokers;
    try {
      await until(
        'they have met',
        () => one.registry.hasService('two', 'two') && two.registry.hasService('one', 'one'),
      );
      expect(await one.call('two.hello')).toBe('two');
      expect([one, two].some((broker) => broker.registry.hasService('else', 'else'))).toBe(false);
      expect(other.registry.nodes.count()).toBe(1);
      const { port } = (one.transit!.tx as unknown as { opts: { port: number } }).opts;
      for (const { address, internal, family } of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
        if (internal || family !== 'IPv4') continue;
        const [error] = (await once(connect(port, address), 'error')) as [{ code: string }];
        expect(error.code).toBe('ECONNREFUSED');
      }
    } finally {
      await Promise.all(brokers.map((broker) => broker.stop()));
    }
  });
});
