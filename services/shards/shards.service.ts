import type { ValidationRule } from 'fastest-validator';
import type { Context, ServiceBroker, ServiceSchema } from 'moleculer';
import { call } from '../../contracts/actions/call.ts';
import { signalOf } from '../../contracts/actions/cancelled.ts';
import type { ShardRecomputing, ShardsActions } from '../../contracts/actions/shards.ts';
import { ownIdentity, type ProcessIdentity } from '../../lib/host/process-identity.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { NODE_DEAD } from '../../mixins/shard-router/shard-calls.ts';
import { announceDraining } from '../../mixins/shard-router/shard-nodes.ts';
import type { Runtime } from '../../process/runtime.ts';
import { silenceMs } from '../../transport/node-silence.ts';
import type { Peers } from './cluster/peers.ts';
import { ShardNode } from './shard-node.ts';

type Name<A = keyof ShardsActions> = A extends `shards.${infer N}` ? N : never;
type Action<N extends Name> = ShardsActions[`shards.${N}`];

/**
 * The parameter checks and the handler of each action. A handler that returns nothing returns null.
 */
type Answers = {
  [N in Name]: [
    checks: { [P in keyof Action<N>['params']]-?: ValidationRule },
    answer: (params: Action<N>['params'], signal: AbortSignal | undefined) => Answer<Action<N>['result']>,
  ];
};
type Answer<R> = R | Promise<R> | (null extends R ? Promise<void> | void : never);

/** Longest time another node may take to open a shard it was given, in ms. */
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
    // Moleculer logs a warning for each call to a node that has left.
    isReachable: (nodeID) =>
      broker.registry.actions.get('shards.follow')?.getEndpointByNodeID(nodeID)?.isAvailable === true,
    offer: (nodeID, arrival) => call(broker, 'shards.offer', arrival, { nodeID, timeout: FOLLOW_TIMEOUT_MS }),
    follow: (nodeID, shard, seq) =>
      call(broker, 'shards.follow', { shard, seq }, { nodeID, timeout: FOLLOW_TIMEOUT_MS }),
    onDead: (node) => void broker.broadcast(NODE_DEAD, { node }),
    onDraining: () => announceDraining(broker),
  };
}

function answersOf(node: () => ShardNode, tell: (progress: ShardRecomputing) => void): Answers {
  const shard = { type: 'object' } as const;
  const batch = shard;
  const query = shard;
  const read = shard;
  const change = shard;
  const ids = { type: 'array', items: 'string' } as const;
  const eventual = { type: 'boolean', optional: true } as const;
  const waitMs = { type: 'number', min: 0 } as const;
  const pageMaxBytes = { type: 'number', min: 1 } as const;
  const openMaxMs = { type: 'number', min: 0, optional: true } as const;
  const bytes = waitMs;
  const load = waitMs;
  const reason = { type: 'enum', values: ['memory', 'load', 'home'] } as const;
  const seq = 'number';
  const collectionId = 'string';
  return {
    upsert: [{ shard, batch, waitMs, openMaxMs }, (write) => node().upsert(write)],
    delete: [{ shard, ids, waitMs, openMaxMs }, (write) => node().delete(write)],
    change: [{ shard, change, waitMs, openMaxMs }, (write) => node().change(write)],
    query: [{ shard, query, pageMaxBytes, eventual, openMaxMs }, (read, signal) => node().query(read, signal)],
    queries: [
      { shard, queries: { type: 'array', items: query }, pageMaxBytes, eventual, openMaxMs },
      (read, signal) => node().queries(read, signal),
    ],
    read: [{ shard, read, eventual, openMaxMs }, (asked, signal) => node().read(asked, signal)],
    fetch: [{ shard, ids, pageMaxBytes, eventual, openMaxMs }, (read, signal) => node().fetch(read, signal)],
    next: [{ shard, rest: 'string', pageMaxBytes: { type: 'number', min: 0 } }, (read) => node().next(read)],
    leave: [{ shard, rest: 'string' }, (read) => node().leave(read)],
    ready: [{ shard }, ({ shard }) => node().ready(shard)],
    previewUpdates: [
      { shard, updates: 'array', terms: 'object', openMaxMs },
      (asked, signal) => node().previewUpdates(asked, signal),
    ],
    metadataBytes: [{ shard, ids, openMaxMs }, (asked, signal) => node().metadataBytes(asked, signal)],
    countNew: [{ shard, ids, openMaxMs }, (asked, signal) => node().countNew(asked, signal)],
    prove: [{ shard, id: 'string' }, (asked, signal) => node().prove(asked, signal)],
    head: [{ shard }, ({ shard }) => node().head(shard)],
    memory: [{ shard }, ({ shard }, signal) => node().memory(shard, signal)],
    headAt: [{ shard, seq }, ({ shard, seq }) => node().shardCache.headAt(shard, seq)],
    resume: [{ shard }, ({ shard }) => node().resume(shard)],
    recompute: [
      { shard, run: { type: 'string', optional: true } },
      ({ shard, run }) =>
        node().recomputation.begin(shard, (records) => {
          if (run !== undefined) tell({ run, shard: shard.index, records });
        }),
    ],
    extend: [{ session: 'string', seq }, ({ session, seq }) => node().recomputation.extend(session, seq)],
    keep: [{ session: 'string' }, ({ session }) => node().recomputation.keep(session)],
    release: [{ session: 'string' }, ({ session }) => node().recomputation.release(session)],
    drop: [{ collectionId }, ({ collectionId }) => node().drop(collectionId)],
    forget: [{ collectionId }, ({ collectionId }) => node().forget(collectionId)],
    adopt: [{ shard }, ({ shard }) => node().adopt(shard)],
    move: [{ key: 'string', node: 'string' }, ({ key, node: to }) => node().cluster.move(key, to)],
    follow: [{ shard, seq }, ({ shard, seq }) => node().cluster.follow(shard, seq)],
    offer: [{ bytes, load, reason }, (arrival) => node().cluster.rebalancer.considerOffer(arrival)],
    drain: [{}, () => node().cluster.drain()],
    held: [{}, () => node().held()],
    stats: [{}, () => node().stats()],
  };
}

/**
 * Holds shards in worker threads and is the only writer of their logs. `isShared` tells whether
 * other nodes may use the same store.
 */
export default function shardsService(runtime: Runtime, isShared = false): ServiceSchema {
  let node: ShardNode;
  let broker: ServiceBroker;
  const tell = (progress: ShardRecomputing): void => {
    broker.broadcast('shards.recomputing', progress, ['verification']).catch((error: unknown) => {
      runtime.log.debug({ err: error }, 'could not report the progress of a verification');
    });
  };
  const answers = answersOf(() => node, tell);
  const actions = Object.entries(answers).map(([name, [params, answer]]) => {
    const answered = answer as (given: unknown, signal: AbortSignal | undefined) => unknown;
    return [
      name,
      { params, handler: async (ctx: Context) => (await answered(ctx.params, signalOf(ctx.options))) ?? null },
    ];
  });
  return {
    name: 'shards',
    actions: Object.fromEntries(actions),

    events: {
      'anchoring.changed': ({ params }: Context<{ collectionId: CollectionId }>): void =>
        node?.materialiser.anchored(params.collectionId),
    },

    created() {
      broker = this.broker;
    },

    async started() {
      const halt = (collectionId: CollectionId, reason: string): void => {
        call(broker, 'anchoring.halt', { collectionId, reason }).catch((error: unknown) => {
          runtime.log.error({ err: error, collectionId }, 'could not halt anchoring');
        });
      };
      node = new ShardNode(runtime, halt, isShared ? peersOf(broker, await ownIdentity()) : null);
      await node.start();
    },

    methods: {
      /**
       * Gives away or saves every shard within `forMs`. Afterwards the service only tells where its
       * shards are.
       */
      async leave(forMs: number): Promise<void> {
        await node?.stop(forMs);
      },
      /** Ends every recomputation, because their callers are gone. */
      endRecomputations(): void {
        node?.recomputation.stop();
      },
      /** Returns what `leave` waits for, one sentence per shard. */
      waiting(): string[] {
        return node?.waiting() ?? [];
      },
    },

    async stopped() {
      await node?.stop();
    },
  };
}
