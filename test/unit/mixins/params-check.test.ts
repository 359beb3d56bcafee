import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { ServiceBroker } from 'moleculer';
import { pino } from 'pino';
import { paramsCheck } from '../../../mixins/params-check.ts';
import { ErrorRegenerator } from '../../../transport/error-regenerator.ts';

const brokers: ServiceBroker[] = [];
afterEach(() => Promise.all(brokers.splice(0).map((broker) => broker.stop())));

/** A broker with the actions, and another one that calls them over a transporter. */
async function pair(): Promise<ServiceBroker[]> {
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
  brokers.push(host, other);
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
  return [host, other];
}

test.each([
  ['shelf.get', {}, 'account is missing.'],
  ['shelf.get', undefined, 'account is missing.'],
  ['shelf.get', { account: 7 }, 'account must be text.'],
  ['shelf.put', { account: 'a', count: 1.5 }, 'count must be a whole number.'],
  ['shelf.put', { account: 'a', count: 0 }, 'count must be at least 1.'],
])('%s of %j: %s, in the process and over the transporter', async (action, params, message) => {
  for (const broker of await pair())
    await expect(broker.call(action, params)).rejects.toMatchObject({ name: 'ValidationError', message });
});

test('accepts correct parameters, and some that are not checked', async () => {
  for (const broker of await pair()) {
    expect(await broker.call('shelf.get', { account: 'a', more: 1 })).toBe('got');
    expect(await broker.call('shelf.put', { account: 'a', count: 2 })).toBe('put');
  }
});
