import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { type Actions, type Caller, call } from '../../contracts/actions/call.ts';
import type { KeysChanged } from '../../contracts/actions/keys.ts';
import type { MeteringActions, RoutedActions } from '../../contracts/actions/metering.ts';
import { planOf } from '../../contracts/actions/principal.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { peersWith } from '../../mixins/peers.ts';
import { isShared } from '../../process/node-home.ts';
import type { Runtime } from '../../process/runtime.ts';
import { respondsToPing } from '../../transport/lost-calls.ts';
import { AccountRouter } from './account-router.ts';
import type { Allowance } from './allowance.ts';
import { QueryQuota } from './query-quota.ts';
import { planLimitReached, tooManyShards } from './refusal.ts';
import { usageReport } from './usage-report.ts';
import { WriteQuota } from './write-quota.ts';

type Call<N extends keyof MeteringActions> = Context<Actions[N]['params']>;

/** Implementation of each action on the responsible instance. */
type RoutedHandlers = {
  [N in keyof RoutedActions]: (
    caller: Caller,
    params: RoutedActions[N]['params'],
  ) => Promise<RoutedActions[N]['result']>;
};

const count = { type: 'number', integer: true, min: 0 };

/** Usage and plan limits. */
export default function meteringService({ config, store, clock, log }: Runtime): ServiceSchema {
  let broker: ServiceBroker;
  let charge: AccountRouter;
  let timer: NodeJS.Timeout | undefined;
  const { usage } = store;
  const { pricingUrl } = config;

  const peers = (action: keyof MeteringActions): string[] => peersWith(broker, action).map(({ id }) => id);
  const writes = new WriteQuota({ usage, clock, pricingUrl, isAlone: !isShared(config) });
  const queries = new QueryQuota({
    usage,
    clock,
    pricingUrl,
    isOurs: (accountId) => charge.isOurs(accountId),
    async recall(accountId, nodes) {
      const options = { timeout: INTERNAL_LIMITS.queryRecallMaxMs };
      const known = peers('metering.yieldQueries').filter((node) => nodes.includes(node));
      await Promise.allSettled(
        known.map((nodeID) => call(broker, 'metering.yieldQueries', { accountId }, { ...options, nodeID })),
      );
    },
    get node() {
      return broker.nodeID;
    },
  });

  const allowanceOf = async (ctx: Caller, accountId: string): Promise<Allowance> => {
    const plan = await planOf(ctx, accountId);
    return { plan, limits: config.plans[plan] };
  };
  const reserve = (params: RoutedActions['metering.reserveWrite']['params'], allowance: Allowance) => {
    const { accountId, id, writes: records, writesMin = records, vectors, ticket } = params;
    const need = { writes: records, vectors };
    assert(id !== undefined, 'The instance that received the request must set its id.');
    return writes.reserve(accountId, { id, need, writesMin, allowance, isCounted: ticket !== undefined });
  };
  const work: RoutedHandlers = {
    async 'metering.usage'(caller, { accountId }) {
      const allowance = await allowanceOf(caller, accountId);
      const [used, collections, keys] = await Promise.all([
        queries.read(accountId),
        store.catalog.countCollections(accountId),
        store.keys.count(accountId),
      ]);
      return usageReport({ ...used, collections, keys }, allowance, pricingUrl);
    },
    async 'metering.reserveWrite'(caller, params) {
      return reserve(params, await allowanceOf(caller, params.accountId));
    },
    async 'metering.renew'(_, { accountId, id }) {
      writes.renew(accountId, id);
      return null;
    },
    async 'metering.settle'(_, { accountId, id }) {
      await writes.settle(accountId, id);
      return null;
    },
    async 'metering.takeQuery'(caller, { accountId, count }) {
      return queries.take(accountId, await allowanceOf(caller, accountId), count);
    },
  };
  const charged =
    <N extends keyof RoutedActions>(action: N) =>
    (ctx: Context<RoutedActions[N]['params']>) =>
      charge.run(ctx, action, ctx.params, () => work[action](ctx, ctx.params));
  const look = (): void => {
    queries
      .tick()
      .catch((error: unknown) => log.warn({ err: error }, 'could not write query counts yet; trying again'));
  };

  return {
    name: 'metering',
    actions: {
      usage: {
        params: { accountId: 'string' },
        handler: charged('metering.usage'),
      },
      reserveWrite: {
        params: {
          accountId: 'string',
          writes: count,
          writesMin: { ...count, optional: true },
          vectors: count,
          ticket: { type: 'string', optional: true },
        },
        async handler(ctx: Call<'metering.reserveWrite'>) {
          const { accountId, ticket } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
          if (allowance.limits.writes === null && allowance.limits.vectors === null) {
            if (ticket !== undefined) await call(ctx, 'metering.settle', { accountId, id: ticket });
            return { outcome: 'reserved', id: null };
          }
          // The same id wherever the request is decided, so that room is reserved only once.
          const params = { ...ctx.params, id: ticket ?? randomUUID() };
          return charge.run(ctx, 'metering.reserveWrite', params, () => reserve(params, allowance));
        },
      },
      renew: {
        params: { accountId: 'string', id: 'string' },
        handler: charged('metering.renew'),
      },
      settle: {
        params: { accountId: 'string', id: 'string' },
        handler: charged('metering.settle'),
      },
      takeQuery: {
        params: { accountId: 'string', count: { ...count, optional: true } },
        async handler(ctx: Call<'metering.takeQuery'>) {
          const { accountId, count } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
          // Not forwarded: without a limit, other instances' blocks cannot cause a refusal.
          const take = () => queries.take(accountId, allowance, count);
          if (allowance.limits.queries === null) return take();
          return charge.run(ctx, 'metering.takeQuery', ctx.params, take, ({ month }) => {
            // A failure is retried later.
            queries.giveBack(accountId, month, count).catch(() => undefined);
          });
        },
      },
      forwarded: {
        params: { action: { type: 'enum', values: Object.keys(work) }, params: 'object' },
        handler: (ctx: Call<'metering.forwarded'>) => {
          const { action, params } = ctx.params;
          return (work[action] as (caller: Caller, params: unknown) => Promise<unknown>)(ctx, params);
        },
      },
      giveBackQuery: {
        params: { accountId: 'string', month: 'string', count: { ...count, optional: true } },
        // Not forwarded: it must not run twice, and can run anywhere.
        handler: ({ params: { accountId, month, count } }: Call<'metering.giveBackQuery'>) =>
          queries.giveBack(accountId, month, count).then(() => null),
      },
      yieldQueries: {
        params: { accountId: 'string' },
        handler: ({ params }: Call<'metering.yieldQueries'>) => queries.yield(params.accountId).then(() => null),
      },
      refuse: {
        params: {
          accountId: 'string',
          limit: { type: 'enum', values: ['collections', 'keys', 'shards'] },
          requested: { ...count, optional: true },
        },
        async handler(ctx: Call<'metering.refuse'>) {
          const { accountId, limit, requested = 1 } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
          if (limit === 'shards') throw tooManyShards(requested, allowance, pricingUrl);
          const used = await (limit === 'keys'
            ? store.keys.count(accountId)
            : store.catalog.countCollections(accountId));
          throw planLimitReached({ limit, used, requested: 1 }, allowance, clock, pricingUrl);
        },
      },
    },
    events: {
      'keys.changed'(ctx: Context<KeysChanged>) {
        if (ctx.params.what === 'account') queries.forget(ctx.params.accountId);
      },
      // Another instance may be responsible now.
      '$services.changed': look,
    },
    created() {
      broker = this.broker;
      const answers = (node: string, maxMs: number) => respondsToPing(broker, node, maxMs);
      const others = { peers: () => peers('metering.forwarded'), answers };
      charge = new AccountRouter({ node: broker.nodeID, clock, ...others });
    },
    started() {
      timer = setInterval(() => {
        writes.sweep();
        look();
      }, INTERNAL_LIMITS.meteringTickMs);
    },
    async stopped() {
      clearInterval(timer);
      charge.stop();
      await queries.close();
    },
  };
}
