import { Writable } from 'node:stream';
import type { BrokerOptions } from 'moleculer';
import { pino } from 'pino';
import type { DecodedRequest } from '../../../../contracts/requests/requests.ts';
import { ProvecError } from '../../../../lib/errors.ts';
import type { Clock } from '../../../../lib/time/clock.ts';
import gateway, { type GatewayOptions } from '../../../../services/gateway/gateway.service.ts';
import { type FakeActions, startWorld, type World } from '../../../support/world.ts';

export const KEY = 'pv_live_test-key-of-the-first-account';
export const READ_KEY = 'pv_live_test-key-that-may-only-read';
export const ADMIN_TOKEN = 'operator-token-of-the-tests';

const ROW = { id: 'c1', accountId: 'a1', name: 'docs', dimensions: 3, metric: 'cosine', shards: 1 };

function defaults(): FakeActions {
  return {
    'keys.authenticate': ({ secret }) => {
      if (secret === KEY) return { accountId: 'a1', keyId: 'k1', scopes: ['read', 'write', 'manage'] };
      if (secret === READ_KEY) return { accountId: 'a1', keyId: 'k2', scopes: ['read'] };
      throw new ProvecError('UNAUTHENTICATED', 'unknown key');
    },
    'collections.resolve': ({ name }) => {
      if (name === 'docs') return ROW;
      if (name === 'wide') return { ...ROW, name, dimensions: 8_192 };
      if (name === 'plane') return { ...ROW, name, dimensions: 2, metric: 'euclidean' };
      throw new ProvecError('COLLECTION_NOT_FOUND', 'There is no collection with that name.');
    },
    'collections.query': () => ({ matches: [] }),
    'collections.fetch': () => [],
    'collections.upsert': ({ body }) => ({
      upsertedCount: (body as DecodedRequest<'upsert'>).records.ids.length,
    }),
    'collections.delete': ({ body }) => ({
      deleted: true,
      deletedCount: (body as DecodedRequest<'delete'>).ids!.length,
    }),
    'collections.create': (params) => ({ id: 'c2', ...params }),
    'collections.list': () => ({ collections: [] }),
    'collections.get': ({ name }) => ({ name }),
    'collections.remove': () => ({ deleted: true }),
    'collections.proof': ({ id }) => ({ format: 'PV1', id }),
    'collections.anchors': (params) => ({ anchors: [], nextCursor: null, params }),
    'verification.verify': () => ({ verified: true }),
    'verification.begin': () => ({ id: 'v1', state: 'running' }),
    'verification.get': ({ id }) => ({ id, state: 'running' }),
    'metering.usage': () => ({ month: '2026-11' }),
    'keys.page': () => ({ keys: [] }),
    'keys.create': (params) => ({ id: 'k3', ...params }),
    'keys.revoke': () => ({ revoked: true }),
    'keys.createAccount': (params) => ({ account: params, key: {} }),
    'keys.accountsPage': () => ({ accounts: [] }),
    'keys.setPlan': (params) => params,
    'keys.deleteAccount': () => ({ deleted: true }),
  };
}

export interface Edge extends Pick<World, 'broker' | 'calls'> {
  port: number;
  /** The whole log, as JSON lines. */
  log: string[];
  request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  stop(): Promise<void>;
}

interface Reply {
  status: number;
  headers: Headers;
  text: string;
  json: Record<string, unknown>;
}

export interface EdgeOptions extends GatewayOptions {
  env?: Record<string, string>;
  actions?: FakeActions;
  /** Actions to leave out. */
  without?: string[];
  broker?: BrokerOptions;
  clock?: Clock;
}

/** A gateway on a free port over a real broker, with fake services behind it. */
export async function startEdge(options: EdgeOptions = {}): Promise<Edge> {
  const log: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log.push(chunk.toString());
      done();
    },
  });
  const actions = { ...defaults(), ...options.actions };
  for (const name of options.without ?? []) delete actions[name];
  const { broker, calls } = await startWorld({
    environment: { PROVEC_PORT: '0', PROVEC_LOG_LEVEL: 'debug', ...options.env },
    clock: options.clock,
    log: pino({ level: 'debug' }, sink),
    services: [(runtime) => gateway(runtime, options)],
    fakes: actions,
    broker: { nodeID: 'node-of-the-tests', ...options.broker },
  });
  const { port } = (await broker.call('gateway.listen')) as { port: number };
  return {
    port,
    broker,
    log,
    calls,
    stop: () => broker.stop(),
    async request(method, path, body, headers = {}) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${KEY}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined
          ? {}
          : { body: body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body) }),
      } as RequestInit);
      const text = await response.text();
      const isJson = text.startsWith('{');
      return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : {} };
    },
  };
}

/** Waits until `condition` holds; fails after 90 s. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 90_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come true within 90 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
