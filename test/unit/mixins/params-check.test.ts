import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { paramsCheck } from '../../../mixins/params-check.ts';
import { ErrorRegenerator } from '../../../transport/error-regenerator.ts';

/** A broker with the actions, and another one that calls them over a transporter. */
let brokers: ServiceBroker[];
afterAll(() => Promise.all(brokers.map((broker) => broker.stop())));

beforeAll(async () => {
  const namespace = randomUUID();
  const [host, other] = ['host', 'other'].map(
    (nodeID) =>
      new ServiceBroker({
        nodeID,
        namespace,
        logger: false,
        transporter: 'Fake',
        validator: false,
        middlewares: [paramsCheck],
        errorRegenerator: new ErrorRegenerator(pino({ level: 'silent' })),
      }),
  );
  brokers = [host, other];
  host.createService({
    name: 'shelf',
    actions: {
      get: { params: { account: 'string' }, handler: () => 'got' },
      put: {
        params: { account: 'string', count: { type: 'number', integer: true, min: 1, optional: true } },
        handler: () => 'put',
      },
    },
  });
  await host.start();
  await other.start();
  await other.waitForServices('shelf', 5_000);
});

test.each([
  ['shelf.get', {}, 'account is missing.'],
  ['shelf.get', undefined, 'account is missing.'],
  ['shelf.get', { account: 7 }, 'account must be text.'],
  ['shelf.put', { account: 'a', count: 1.5 }, 'count must be a whole number.'],
  ['shelf.put', { account: 'a', count: 0 }, 'count must be at least 1.'],
])('%s of %j: %s, in the process and over the transporter', async (action, params, message) => {
  for (const broker of brokers)
    await expect(broker.call(action, params)).rejects.toMatchObject({ name: 'ValidationError', message });
});

test('accepts correct parameters, and some that are not checked', async () => {
  for (const broker of brokers) {
    expect(await broker.call('shelf.get', { account: 'a', more: 1 })).toBe('got');
    expect(await broker.call('shelf.put', { account: 'a', count: 2 })).toBe('put');
  }
});
