import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrokerOptions, type Context, ServiceBroker, type ServiceSchema } from 'moleculer';
import { type Logger, pino } from 'pino';
import type { ActionName, Actions } from '../../contracts/actions/call.ts';
import { type Clock, SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { readConfig } from '../../process/config.ts';
import { type Runtime, runtimeOf } from '../../process/runtime.ts';
import type { Store } from '../../store/port.ts';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { type ClientParams, clientCall } from './client-call.ts';
import { TEST_KEYS } from './store-keys.ts';
import { withCallCount } from './store-watch.ts';

export interface TemporaryStore {
  readonly store: Store;
  readonly folder: string;
  /** Closes the store and removes the folder. */
  destroy(): Promise<void>;
}

/** Opens an SQLite store in a temporary folder. `untilStoreIdle` waits for its calls. */
export async function openTemporaryStore(): Promise<TemporaryStore> {
  const folder = await mkdtemp(join(tmpdir(), 'provec-store-'));
  const store = withCallCount(await openSqliteStore(folder, { keys: TEST_KEYS }));
  return {
    store,
    folder,
    async destroy() {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Handlers by full action name; each replaces the service that owns the action. */
export type FakeActions = Record<string, (params: Record<string, never>, options: { signal?: AbortSignal }) => unknown>;

export interface WorldOptions {
  environment?: Record<string, string>;
  /** Default: none, for services that use no store. */
  store?: Store;
  clock?: Clock;
  log?: Logger;
  services?: readonly ((runtime: Runtime) => ServiceSchema)[];
  fakes?: FakeActions;
  broker?: BrokerOptions;
}

/** Some real services on a broker, with fakes in place of the others. */
export interface World {
  readonly broker: ServiceBroker;
  /** Calls that the fakes received, by action. */
  readonly calls: Map<string, Record<string, unknown>[]>;
  /** Calls an action as the gateway does; a body is given as a client sends it. */
  call<N extends ActionName>(
    action: N,
    params: ClientParams<N>,
    options?: Record<string, unknown>,
  ): Promise<Actions[N]['result']>;
}

export async function startWorld(options: WorldOptions): Promise<World> {
  const { environment = {}, store = {} as never, clock = SYSTEM_CLOCK, log = pino({ level: 'silent' }) } = options;
  const config = readConfig(environment);
  const runtime = runtimeOf({ config, store, clock, log });
  const broker = new ServiceBroker({ logger: false, ...options.broker });
  const calls = new Map<string, Record<string, unknown>[]>();
  for (const schema of fakeServices(options.fakes ?? {}, calls)) broker.createService(schema);
  for (const service of options.services ?? []) broker.createService(service(runtime));
  await broker.start();
  return { broker, calls, call: (action, params, how) => clientCall(broker, action, params, how) };
}

function fakeServices(fakes: FakeActions, calls: Map<string, Record<string, unknown>[]>): ServiceSchema[] {
  const services = Map.groupBy(Object.entries(fakes), ([action]) => action.split('.')[0]!);
  return [...services].map(([name, handlers]) => ({
    name,
    actions: Object.fromEntries(
      handlers.map(([action, handler]) => [
        action.slice(name.length + 1),
        (ctx: Context<Record<string, never>>) => {
          calls.set(action, [...(calls.get(action) ?? []), ctx.params]);
          return handler(ctx.params, ctx.options as { signal?: AbortSignal });
        },
      ]),
    ),
  }));
}
