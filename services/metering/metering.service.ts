import { join } from 'node:path';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { type Actions, type Caller, call } from '../../lib/actions/call.ts';
import type { KeysChanged } from '../../lib/actions/keys.ts';
import type { MeteringActions, RoomMade } from '../../lib/actions/metering.ts';
import { planOf } from '../../lib/actions/principal.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { isShared } from '../../lib/process/node-home.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { Allowance } from './allowance.ts';
import { BlockUses } from './block-uses.ts';
import { QueryQuota } from './query-quota.ts';
import { planLimitReached } from './refusal.ts';
import { usageReport } from './usage-report.ts';
import { WriteQuota } from './write-quota.ts';

type Call<N extends keyof MeteringActions> = Context<Actions[N]['params']>;

const count = { type: 'number', integer: true, min: 0 };

/** Beside the store, and shared like it: the processes of one machine look after each other's. */
const JOURNALS = 'query-blocks';
const TICKS_PER_ADOPTION = 5;

/** Usage and plan limits. */
export default function meteringService({ config, store, clock, log }: Runtime): ServiceSchema {
  let broker: ServiceBroker;
  let timer: NodeJS.Timeout | undefined;
  const { usage } = store;
  const { pricingUrl } = config;

  /** The other nodes that count. */
  const peers = (): string[] => {
    const services = broker.registry.getServiceList({ onlyAvailable: true });
    const nodes = services.filter(({ name }) => name === 'metering').map(({ nodeID }) => nodeID as string);
    return nodes.filter((node) => node !== broker.nodeID);
  };
  /**
   * What those of the nodes answer that do; what it means that one does not is for the caller to
   * say.
   */
  const askPeers = async <N extends 'metering.yieldQueries' | 'metering.queriesUsed'>(
    action: N,
    accountId: string,
    nodes: readonly string[] = peers(),
  ): Promise<Actions[N]['result'][]> => {
    const options = { timeout: INTERNAL_LIMITS.queryRecallMaxMs };
    const answers = await Promise.allSettled(
      nodes.map((nodeID) => call(broker, action, { accountId }, { ...options, nodeID })),
    );
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
  };
  const announceRoom = (accountId: string): void => {
    // Whoever does not hear of it looks again within a second.
    broker.broadcast('metering.roomMade', { accountId } satisfies RoomMade).catch(() => undefined);
  };

  const uses = new BlockUses({ folder: join(config.dataDir, JOURNALS), usage, clock, log });
  const writes = new WriteQuota({ usage, clock, pricingUrl, isAlone: !isShared(config), onRoom: announceRoom });
  const queries = new QueryQuota({
    usage,
    clock,
    pricingUrl,
    uses,
    async recall(accountId, nodes) {
      const known = peers().filter((node) => nodes.includes(node));
      await askPeers('metering.yieldQueries', accountId, known);
    },
    usesElsewhere: async (accountId) => (await askPeers('metering.queriesUsed', accountId)).flat(),
    get node() {
      return broker.nodeID;
    },
  });

  const allowanceOf = async (ctx: Caller, accountId: string): Promise<Allowance> => {
    const plan = await planOf(ctx, accountId);
    return { plan, limits: config.plans[plan] };
  };

  return {
    name: 'metering',
    actions: {
      usage: {
        params: { accountId: 'string' },
        async handler(ctx: Call<'metering.usage'>) {
          const { accountId } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
          const [used, collections, keys] = await Promise.all([
            queries.read(accountId),
            store.catalog.countCollections(accountId),
            store.keys.count(accountId),
          ]);
          return usageReport({ ...used, collections, keys }, allowance, pricingUrl);
        },
      },
      reserveWrite: {
        params: { accountId: 'string', writes: count, vectors: count, ticket: { type: 'string', optional: true } },
        async handler(ctx: Call<'metering.reserveWrite'>) {
          const { accountId, ticket, ...need } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
          if (allowance.limits.writes === null && allowance.limits.vectors === null) {
            if (ticket !== undefined) await writes.settle(accountId, ticket);
            return { outcome: 'reserved', id: null };
          }
          return ticket === undefined
            ? writes.reserve(accountId, need, allowance)
            : writes.reserveCounted(accountId, need, ticket, allowance);
        },
      },
      renew: {
        params: { accountId: 'string', id: 'string' },
        handler(ctx: Call<'metering.renew'>) {
          writes.renew(ctx.params.accountId, ctx.params.id);
          return null;
        },
      },
      settle: {
        params: { accountId: 'string', id: 'string' },
        async handler(ctx: Call<'metering.settle'>) {
          await writes.settle(ctx.params.accountId, ctx.params.id);
          return null;
        },
      },
      takeQuery: {
        params: { accountId: 'string' },
        async handler(ctx: Call<'metering.takeQuery'>) {
          const { accountId } = ctx.params;
          return queries.take(accountId, await allowanceOf(ctx, accountId));
        },
      },
      giveBackQuery: {
        params: { accountId: 'string', month: 'string' },
        async handler(ctx: Call<'metering.giveBackQuery'>) {
          await queries.giveBack(ctx.params.accountId, ctx.params.month);
          return null;
        },
      },
      yieldQueries: {
        params: { accountId: 'string' },
        async handler(ctx: Call<'metering.yieldQueries'>) {
          await queries.yield(ctx.params.accountId);
          return null;
        },
      },
      queriesUsed: {
        params: { accountId: 'string' },
        handler: (ctx: Call<'metering.queriesUsed'>) => queries.uses(ctx.params.accountId),
      },
      limits: {
        params: { accountId: 'string' },
        async handler(ctx: Call<'metering.limits'>) {
          const { plan, limits } = await allowanceOf(ctx, ctx.params.accountId);
          return { collections: limits.collections, keys: limits.keys, anchoring: limits.anchoring, plan };
        },
      },
      refuse: {
        params: { accountId: 'string', limit: { type: 'enum', values: ['collections', 'keys'] } },
        async handler(ctx: Call<'metering.refuse'>) {
          const { accountId, limit } = ctx.params;
          const allowance = await allowanceOf(ctx, accountId);
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
      'metering.roomMade'(ctx: Context<RoomMade>) {
        writes.look(ctx.params.accountId);
      },
    },
    created() {
      broker = this.broker;
    },
    async started() {
      await uses.start();
      let ticks = 0;
      const tick = (): void => {
        uses.beat();
        writes.sweep();
        queries.tick().catch((error: unknown) => log.warn({ err: error }, 'queries could not be counted yet'));
        if (++ticks % TICKS_PER_ADOPTION === 0) void uses.adopt();
      };
      timer = setInterval(tick, INTERNAL_LIMITS.meteringTickMs);
    },
    async stopped() {
      clearInterval(timer);
      try {
        await queries.close();
      } finally {
        uses.close();
      }
    },
  };
}
