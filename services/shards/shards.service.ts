import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { type Actions, call } from '../../lib/actions/call.ts';
import type { ShardsActions } from '../../lib/actions/shards.ts';
import { ownIdentity, type ProcessIdentity } from '../../lib/process/process-identity.ts';
import { type Runtime, SYSTEM_CLOCK } from '../../lib/runtime.ts';
import { NODE_DEAD } from '../../mixins/shard-router/shard-calls.ts';
import { announceDraining } from '../../mixins/shard-router/shard-nodes.ts';
import { silenceMs } from '../../mixins/transport/hearing.ts';
import type { Peers } from './cluster/member.ts';
import { ShardNode } from './shard-node.ts';

type Params<A extends keyof ShardsActions> = Context<ShardsActions[A]['params']>;
type Result<A extends keyof ShardsActions> = Promise<Actions[A]['result']>;

/** How long another node may take to open a shard that it is given. */
const ADOPT_TIMEOUT_MS = 120_000;

const FOLLOW_TIMEOUT_MS = 5_000;

function peersOf(broker: ServiceBroker, process: ProcessIdentity): Peers {
  return {
    node: broker.nodeID,
    process,
    silenceMs: () => silenceMs(broker, SYSTEM_CLOCK.monotonicMs()),
    async adopt(nodeID, shard, maxMs = ADOPT_TIMEOUT_MS) {
      await call(broker, 'shards.adopt', { shard }, { nodeID, timeout: Math.round(maxMs) });
    },
    // Told to a node that has gone away every call would be a warning.
    isThere: (nodeID) =>
      broker.registry.actions.get('shards.follow')?.getEndpointByNodeID(nodeID)?.isAvailable === true,
    offer: (nodeID, arrival) => call(broker, 'shards.offer', arrival, { nodeID, timeout: FOLLOW_TIMEOUT_MS }),
    follow: (nodeID, shard, seq) =>
      call(broker, 'shards.follow', { shard, seq }, { nodeID, timeout: FOLLOW_TIMEOUT_MS }),
    onDead: (node) => void broker.broadcast(NODE_DEAD, { node }),
    onDraining: () => announceDraining(broker),
  };
}

/**
 * Holds shards in worker threads and is the only writer of their logs. `isShared`: other nodes may
 * be on the same store.
 */
export default function shardsService(runtime: Runtime, isShared = false): ServiceSchema {
  let node: ShardNode;
  const shard = { type: 'object' } as const;
  const ids = { type: 'array', items: 'string' } as const;
  const eventual = { type: 'boolean', optional: true } as const;
  const waitMs = { type: 'number', min: 0 } as const;
  const pageMaxBytes = { type: 'number', min: 1 } as const;
  const openMaxMs = { type: 'number', min: 0, optional: true } as const;
  return {
    name: 'shards',

    actions: {
      upsert: {
        params: { shard, batch: { type: 'object' }, waitMs, openMaxMs },
        handler: ({ params }: Params<'shards.upsert'>): Result<'shards.upsert'> =>
          node.upsert(params.shard, params.batch, params.waitMs, params.openMaxMs),
      },
      delete: {
        params: { shard, ids, waitMs, openMaxMs },
        handler: ({ params }: Params<'shards.delete'>): Result<'shards.delete'> =>
          node.delete(params.shard, params.ids, params.waitMs, params.openMaxMs),
      },
      query: {
        params: { shard, query: { type: 'object' }, pageMaxBytes, eventual, openMaxMs },
        handler: ({ params }: Params<'shards.query'>): Result<'shards.query'> =>
          node.query(params.shard, params.query, params),
      },
      fetch: {
        params: { shard, ids, pageMaxBytes, eventual, openMaxMs },
        handler: ({ params }: Params<'shards.fetch'>): Result<'shards.fetch'> =>
          node.fetch(params.shard, params.ids, params),
      },
      next: {
        params: { shard, rest: 'string', pageMaxBytes },
        handler: ({ params }: Params<'shards.next'>): Result<'shards.next'> =>
          node.next(params.shard, params.rest, params.pageMaxBytes),
      },
      leave: {
        params: { shard, rest: 'string' },
        async handler({ params }: Params<'shards.leave'>): Result<'shards.leave'> {
          await node.leave(params.shard, params.rest);
          return null;
        },
      },
      ready: {
        params: { shard },
        async handler({ params }: Params<'shards.ready'>): Result<'shards.ready'> {
          await node.ready(params.shard);
          return null;
        },
      },
      countNew: {
        params: { shard, ids },
        handler: ({ params }: Params<'shards.countNew'>): Result<'shards.countNew'> =>
          node.countNew(params.shard, params.ids),
      },
      prove: {
        params: { shard, id: 'string' },
        handler: ({ params }: Params<'shards.prove'>): Result<'shards.prove'> => node.prove(params.shard, params.id),
      },
      head: {
        params: { shard },
        handler: ({ params }: Params<'shards.head'>): Result<'shards.head'> => node.head(params.shard),
      },
      headAt: {
        params: { shard, seq: 'number' },
        handler: ({ params }: Params<'shards.headAt'>): Result<'shards.headAt'> =>
          node.shardCache.headAt(params.shard, params.seq),
      },
      resume: {
        params: { shard },
        async handler({ params }: Params<'shards.resume'>): Result<'shards.resume'> {
          await node.resume(params.shard);
          return null;
        },
      },
      recompute: {
        params: { shard },
        handler: ({ params }: Params<'shards.recompute'>): Result<'shards.recompute'> =>
          node.recomputation.begin(params.shard),
      },
      extend: {
        params: { session: 'string', seq: 'number' },
        handler: ({ params }: Params<'shards.extend'>): Result<'shards.extend'> =>
          node.recomputation.extend(params.session, params.seq),
      },
      release: {
        params: { session: 'string' },
        async handler({ params }: Params<'shards.release'>): Result<'shards.release'> {
          node.recomputation.release(params.session);
          return null;
        },
      },
      drop: {
        params: { collectionId: 'string' },
        async handler({ params }: Params<'shards.drop'>): Result<'shards.drop'> {
          await node.drop(params.collectionId);
          return null;
        },
      },
      forget: {
        params: { collectionId: 'string' },
        async handler({ params }: Params<'shards.forget'>): Result<'shards.forget'> {
          await node.forget(params.collectionId);
          return null;
        },
      },
      adopt: {
        params: { shard },
        async handler({ params }: Params<'shards.adopt'>): Result<'shards.adopt'> {
          await node.adopt(params.shard);
          return null;
        },
      },
      move: {
        params: { key: 'string', node: 'string' },
        async handler({ params }: Params<'shards.move'>): Result<'shards.move'> {
          await node.others.move(params.key, params.node);
          return null;
        },
      },
      follow: {
        params: { shard, seq: 'number' },
        async handler({ params }: Params<'shards.follow'>): Result<'shards.follow'> {
          return node.others.follow(params.shard, params.seq);
        },
      },
      offer: {
        params: {
          bytes: { type: 'number', min: 0 },
          load: { type: 'number', min: 0 },
          reason: { type: 'enum', values: ['memory', 'load', 'home'] },
        },
        async handler({ params }: Params<'shards.offer'>): Result<'shards.offer'> {
          return node.others.rebalancer.offered(params);
        },
      },
      async drain(): Result<'shards.drain'> {
        await node.others.drain();
        return null;
      },
      async held(): Result<'shards.held'> {
        return node.held();
      },
      stats: {
        async handler(): Result<'shards.stats'> {
          return node.stats();
        },
      },
    },

    events: {
      'anchoring.changed': ({ params }: Context<{ collectionId: string }>): void =>
        node?.materialiser.anchored(params.collectionId),
    },

    async started() {
      const { broker } = this;
      const halt = (collectionId: string, reason: string): void => {
        call(broker, 'anchoring.halt', { collectionId, reason }).catch((error: unknown) => {
          runtime.log.error({ err: error, collectionId }, 'could not halt anchoring');
        });
      };
      node = new ShardNode(runtime, halt, isShared ? peersOf(broker, await ownIdentity()) : null);
      await node.start();
    },

    methods: {
      /**
       * Gives away or saves every shard, within `forMs`; the service answers nothing any more but
       * where its shards are.
       */
      async leave(forMs: number): Promise<void> {
        await node?.stop(forMs);
      },
      /** What that waits for, a sentence for each shard. */
      waiting(): string[] {
        return node?.waiting() ?? [];
      },
    },

    async stopped() {
      await node?.stop();
    },
  };
}
