/**
 * A user of the machine who cannot read the installation's secret reaches the ports of a cluster
 * over TCP: with stock Moleculer, with Provec's transporter and another secret, and with arbitrary
 * bytes. cluster/transport/redis-stranger covers the same over Redis.
 */
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { ServiceBroker, Transporters } from 'moleculer';
import { pino } from 'pino';
import { call } from '../../../contracts/actions/call.ts';
import { type Keyring, transportKeys } from '../../../lib/secret/keyring.ts';
import { Metrics } from '../../../mixins/metrics.ts';
import { brokerOptions } from '../../../moleculer.config.ts';
import { readConfig } from '../../../process/config.ts';
import { loadSecrets } from '../../../process/secret-file.ts';
import { CborSerializer } from '../../../transport/cbor-serializer.ts';
import { type TestNode, TransportCluster } from '../../cluster/transport/cluster.ts';
import { type ServiceProcess, StartedProcess, startProcess } from '../../support/service-process.ts';
import { FORGED_TRANSPORT_KEYS } from '../../support/store-keys.ts';
import { until } from '../../support/until.ts';

const REPL = fileURLToPath(new URL('../../../scripts/repl.ts', import.meta.url));
const SILENT = pino({ level: 'silent' });

describe('two nodes', () => {
  let cluster: TransportCluster;
  let a: TestNode;
  let b: TestNode;

  beforeEach(async () => {
    cluster = new TransportCluster({ kind: 'TCP' });
    [a, b] = (await cluster.startAll('a', 'b')) as [TestNode, TestNode];
  });
  afterEach(() => cluster.stop());

  async function expectUntouched(stranger: ServiceBroker): Promise<void> {
    for (const id of ['a', 'b']) {
      expect(stranger.registry.hasService(id, id)).toBe(false);
      await expect(stranger.call(`${id}.count`, { key: 'x' }, { nodeID: id })).rejects.toThrow();
    }
    for (const member of [a, b]) {
      expect(member.broker.registry.hasService('stranger', 'stranger')).toBe(false);
      expect(member.runs).toEqual([]);
    }
    expect(await a.broker.call('b.whoCalls')).toBe('a');
    expect(await b.broker.call('a.whoCalls')).toBe('b');
  }

  test("a stranger with Moleculer's transporter learns nothing, and nothing that it sends is accepted", async () => {
    const urls = [a, b].map(({ id, port }) => `127.0.0.1:${port}/${id}`).join(',');
    const stranger = new ServiceBroker({
      namespace: cluster.namespace,
      nodeID: 'stranger',
      logger: false,
      serializer: new CborSerializer(),
      transporter: new Transporters.TCP({ udpDiscovery: false, urls, gossipPeriod: 1 } as Transporters.TCP['opts']),
    });
    stranger.createService({ name: 'stranger', actions: { whoCalls: () => 'gotcha' } });
    await stranger.start();
    for (const member of [a, b])
      await until('what he sent was dropped', async () => (await member.metric('drops_total')) > 0);
    await expectUntouched(stranger);
    await stranger.stop();
  });

  test("nor does one with a cluster's transporter, under another secret", async () => {
    const stranger = await cluster.start('stranger', {}, null, FORGED_TRANSPORT_KEYS);
    cluster.nodes.pop();
    for (const member of [a, b])
      await until('what it sent was dropped', async () => (await member.metric('drops_total')) > 0);
    await expectUntouched(stranger.broker);
    await stranger.stop();
  });

  test('arbitrary bytes end neither node', async () => {
    const packets = [
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      Buffer.alloc(70_000, 0xe1),
      Buffer.from([0, 0, 0, 0, 6, 3]),
    ];
    for (const bytes of packets) {
      const socket = connect(a.port, '127.0.0.1');
      socket.on('error', () => undefined);
      await new Promise<void>((resolve) => socket.end(bytes, resolve));
    }
    expect(await b.broker.call('a.whoCalls')).toBe('b');
  });
});

describe('a service whose data folder a stranger knows', () => {
  let service: ServiceProcess;

  beforeAll(async () => {
    service = await startProcess({ PROVEC_TRANSPORTER: 'TCP', PROVEC_LEDGER: 'off', PROVEC_LOG_LEVEL: 'silent' });
  });
  afterAll(() => service.dispose());

  async function joined(id: string, keys: Keyring): Promise<ServiceBroker> {
    const config = readConfig({
      PROVEC_NODE_ID: id,
      PROVEC_TRANSPORTER: 'TCP',
      PROVEC_DATA_DIR: service.dataDir,
    });
    const broker = new ServiceBroker(
      brokerOptions({ config, log: SILENT, metrics: new Metrics(), transportKeys: keys }),
    );
    await broker.start();
    return broker;
  }

  test('the stranger lists no account, creates no key and sets no plan; an operator with the secret can', async () => {
    const stranger = await joined('stranger', FORGED_TRANSPORT_KEYS);
    const config = readConfig({ PROVEC_DATA_DIR: service.dataDir });
    const operator = await joined('operator', transportKeys(await loadSecrets(config, false, SILENT)));
    try {
      await operator.waitForServices('keys');
      const [account] = (await call(operator, 'keys.accountsPage', { limit: 10 })).accounts;
      const accountId = account!.id;
      const gone = { name: 'ServiceNotFoundError' };
      await expect(call(stranger, 'keys.accountsPage', { limit: 10 })).rejects.toMatchObject(gone);
      await expect(call(stranger, 'keys.create', { accountId, name: 'his' })).rejects.toMatchObject(gone);
      await expect(call(stranger, 'keys.setPlan', { id: accountId, plan: 'free' })).rejects.toMatchObject(gone);
      expect((await call(operator, 'keys.page', { accountId, limit: 10 })).keys).toHaveLength(1);
      expect(await call(operator, 'keys.plan', { accountId })).toBe('enterprise');
    } finally {
      await Promise.all([operator.stop(), stranger.stop()]);
    }
  });

  test('an operator with another secret is told that this may be why no cluster is found', async () => {
    const environment = { PROVEC_DATA_DIR: service.dataDir, PROVEC_SECRET: 'x'.repeat(32) };
    const run = new StartedProcess(environment, ['provec', 'nodes'], [process.execPath, REPL]);
    try {
      expect(await run.ended).toEqual({ code: 1, signal: null });
    } finally {
      run.dispose();
    }
    expect(run.stdout).toBe('');
    expect(run.stderr).toMatch(/No service runs on .*, or its secret is another one .*PROVEC_SECRET/);
  });
});
