import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { ServiceBroker } from 'moleculer';
import { type Caller, call } from '../../contracts/actions/call.ts';
import type { MeteringActions, RoutedActions } from '../../contracts/actions/metering.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import type { AccountId } from '../../lib/ids.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { dayOf } from '../../lib/time/month.ts';
import type { CallOf, Handlers } from '../../mixins/handled-actions.ts';
import { peersWith } from '../../mixins/peers.ts';
import { isShared } from '../../process/node-home.ts';
import type { Runtime } from '../../process/runtime.ts';
import { respondsToPing } from '../../transport/lost-calls.ts';
import { AccountRouter } from './account-router.ts';
import type { Allowance } from './allowance.ts';
import { QueryQuota } from './query-quota.ts';
import { planLimitReached, tooManyShards } from './refusal.ts';
import { usageDays } from './usage-days.ts';
import { usageReport } from './usage-report.ts';
import { WriteQuota } from './write-quota.ts';

/** Implementation of each routed action on the responsible instance. */
type Work = {
  [N in keyof RoutedActions]: (
    caller: Caller,
    params: RoutedActions[N]['params'],
  ) => Promise<RoutedActions[N]['result']>;
};

/** Handlers of the actions on usage and plan limits. */
export class MeteringHandlers {
  readonly #runtime: Runtime;
  readonly #broker: ServiceBroker;
  readonly #writes: WriteQuota;
  readonly #queries: QueryQuota;
  readonly #router: AccountRouter;
  readonly #work: Work = {
    'metering.usage': (caller, { accountId }) => this.#report(caller, accountId),
    'metering.reserveWrite': async (caller, params) =>
      this.#reserve(params, await this.#allowanceOf(caller, params.accountId)),
    'metering.renew': async (_, { accountId, id }) => {
      this.#writes.renew(accountId, id);
      return null;
    },
    'metering.settle': async (_, { accountId, id }) => {
      await this.#writes.settle(accountId, id);
      return null;
    },
    'metering.takeQuery': async (caller, { accountId, count }) =>
      this.#queries.take(accountId, await this.#allowanceOf(caller, accountId), count),
  };

  constructor(runtime: Runtime, broker: ServiceBroker) {
    const { config, store, clock } = runtime;
    const { usage } = store;
    const { pricingUrl } = config;
    this.#runtime = runtime;
    this.#broker = broker;
    this.#writes = new WriteQuota({ usage, clock, pricingUrl, isAlone: !isShared(config) });
    this.#queries = new QueryQuota({
      usage,
      clock,
      pricingUrl,
      node: broker.nodeID,
      isOurs: (accountId) => this.#router.isOurs(accountId),
      recall: (accountId, nodes) => this.#recall(accountId, nodes),
    });
    this.#router = new AccountRouter({
      node: broker.nodeID,
      clock,
      peers: () => this.#peers('metering.forwarded'),
      answers: (node, maxMs) => respondsToPing(broker, node, maxMs),
    });
  }

  readonly actions: Handlers<'metering'> = {
    usage: (ctx) => this.#routed('metering.usage', ctx),
    usageDays: ({ params: { accountId, days } }) => {
      const { clock, store } = this.#runtime;
      return usageDays(store.usage, accountId, dayOf(clock.wallMs()), days);
    },
    reserveWrite: async (ctx) => {
      const { accountId, ticket } = ctx.params;
      const allowance = await this.#allowanceOf(ctx, accountId);
      if (allowance.limits.writes === null && allowance.limits.vectors === null) {
        if (ticket !== undefined) await call(ctx, 'metering.settle', { accountId, id: ticket });
        return { outcome: 'reserved', id: null };
      }
      // The same id wherever the request is decided, so that room is reserved only once.
      const params = { ...ctx.params, id: ticket ?? randomUUID() };
      return this.#router.run(ctx, 'metering.reserveWrite', params, () => this.#reserve(params, allowance));
    },
    renew: (ctx) => this.#routed('metering.renew', ctx),
    settle: (ctx) => this.#routed('metering.settle', ctx),
    takeQuery: async (ctx) => {
      const { accountId, count } = ctx.params;
      const allowance = await this.#allowanceOf(ctx, accountId);
      // Not forwarded: without a limit, other instances' blocks cannot cause a refusal.
      const take = () => this.#queries.take(accountId, allowance, count);
      if (allowance.limits.queries === null) return take();
      return this.#router.run(ctx, 'metering.takeQuery', ctx.params, take, ({ month }) => {
        // A failure is retried later.
        this.#queries.giveBack(accountId, month, count).catch(() => undefined);
      });
    },
    forwarded: (ctx) => {
      const { action, params } = ctx.params;
      const work = this.#work[action] as (caller: Caller, params: unknown) => Promise<never>;
      return work(ctx, params);
    },
    /** Not forwarded: it must not run twice, and can run anywhere. */
    giveBackQuery: async ({ params: { accountId, month, count } }) => {
      await this.#queries.giveBack(accountId, month, count);
      return null;
    },
    yieldQueries: async ({ params }) => {
      await this.#queries.yield(params.accountId);
      return null;
    },
    refuse: async (ctx): Promise<never> => {
      const { config, store, clock } = this.#runtime;
      const { accountId, limit, requested = 1 } = ctx.params;
      const allowance = await this.#allowanceOf(ctx, accountId);
      if (limit === 'shards') throw tooManyShards(requested, allowance, config.pricingUrl);
      const used = await (limit === 'keys' ? store.keys.count(accountId) : store.catalog.countCollections(accountId));
      throw planLimitReached({ limit, used, requested: 1 }, allowance, clock, config.pricingUrl);
    },
  };

  /** Forgets the queries of an account that was deleted. */
  forget(accountId: AccountId): void {
    this.#queries.forget(accountId);
  }

  tick(): void {
    this.#writes.sweep();
    this.writeQueries();
  }

  /** Stores query counts that are due, in the background. */
  writeQueries(): void {
    this.#queries
      .tick()
      .catch((error: unknown) =>
        this.#runtime.log.warn({ err: error }, 'could not write query counts yet; trying again'),
      );
  }

  async stop(): Promise<void> {
    this.#router.stop();
    await this.#queries.close();
  }

  #routed<N extends keyof RoutedActions>(action: N, ctx: CallOf<N>): Promise<RoutedActions[N]['result']> {
    return this.#router.run(ctx, action, ctx.params, () => this.#work[action](ctx, ctx.params));
  }

  async #allowanceOf(caller: Caller, accountId: AccountId): Promise<Allowance> {
    const plan = await planOf(caller, accountId);
    return { plan, limits: await this.#runtime.plans.limitsOf(plan) };
  }

  async #report(caller: Caller, accountId: AccountId) {
    const { config, store } = this.#runtime;
    const allowance = await this.#allowanceOf(caller, accountId);
    const [used, collections, keys] = await Promise.all([
      this.#queries.read(accountId),
      store.catalog.countCollections(accountId),
      store.keys.count(accountId),
    ]);
    return usageReport({ ...used, collections, keys }, allowance, config.pricingUrl);
  }

  #reserve(params: RoutedActions['metering.reserveWrite']['params'], allowance: Allowance) {
    const { accountId, id, writes: records, writesMin = records, vectors, ticket } = params;
    const need = { writes: records, vectors };
    assert(id !== undefined, 'The instance that received the request must set its id.');
    return this.#writes.reserve(accountId, { id, need, writesMin, allowance, isCounted: ticket !== undefined });
  }

  async #recall(accountId: AccountId, nodes: readonly string[]): Promise<void> {
    const options = { timeout: INTERNAL_LIMITS.queryRecallMaxMs };
    const known = this.#peers('metering.yieldQueries').filter((node) => nodes.includes(node));
    await Promise.allSettled(
      known.map((nodeID) => call(this.#broker, 'metering.yieldQueries', { accountId }, { ...options, nodeID })),
    );
  }

  #peers(action: keyof MeteringActions): string[] {
    return peersWith(this.#broker, action).map(({ id }) => id);
  }
}
