import pino from 'pino';
import { Placement } from '../../../../../lib/placement/placement.ts';
import type { ShardSpec } from '../../../../../lib/shard/spec.ts';
import { Drain, type DrainOptions } from '../../../../../services/shards/cluster/drain.ts';
import { HandOver, type HandOverOptions } from '../../../../../services/shards/cluster/hand-over.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import { VirtualTime } from '../../../../simulation/ownership/virtual-time.ts';

const LOG = pino({ level: 'silent' });
const ROW = { id: 'c0000000-0000-4000-8000-000000000001', shards: 256, accountId: 'a' } as CollectionRow;
export const keyOf = (index: number) => `${ROW.id}.${index}`;
const indexOf = (key: string) => key.slice(key.lastIndexOf('.') + 1);

export interface LeavingTerms {
  /** Indexes of the shards that the node holds. */
  shards: number[];
  /** Indexes of the shards that open within a moment. */
  quick?: number[];
  /** The node itself, `a`, and the other nodes that take shards. */
  nodes?: string[];
  /** Seq of the copy on a node; may throw. */
  follow?(node: string, headSeq: number): number | null;
  /** Opens a shard on the other node. */
  adopt?(node: string, index: string): void | Promise<void>;
  /** Releases a shard in the store. */
  release?(index: string): void | Promise<void>;
  /** Size of each shard in memory. */
  bytes?: number;
  /** Duration of a checkpoint. */
  saveMs?: number;
}

/** Node `a`, which holds some shards, on virtual time. `done` lists its operations in order. */
export function leavingNode({
  shards,
  quick = [],
  nodes = ['a', 'b', 'c'],
  follow = (_node, seq) => seq,
  adopt = () => undefined,
  release = () => undefined,
  bytes = 1_000,
  saveMs = 0,
}: LeavingTerms) {
  const time = new VirtualTime();
  const done: string[] = [];
  const held = new Set(shards.map(keyOf));
  let headSeq = 0;
  const actorOf = (key: string) => ({
    key,
    spec: { collectionId: ROW.id, index: Number(indexOf(key)) } as ShardSpec,
    size: { bytes },
    // Commits happen all the time.
    head: { seq: ++headSeq },
    refuseQueued: () => void done.push(`refuseQueued ${indexOf(key)}`),
  });
  const shardCache = {
    keys: () => [...held],
    open: () => [...held].map(actorOf),
    peek: ({ index }: ShardSpec) => (held.has(keyOf(index)) ? actorOf(keyOf(index)) : null),
    save: async (key: string) => {
      await time.delay(saveMs);
      done.push(`save ${indexOf(key)}`);
    },
    close: async (key: string, save: boolean) => {
      held.delete(key);
      done.push(`${save ? 'save and let go' : 'let go'} ${indexOf(key)}`);
    },
  };
  const membership = {
    node: 'a',
    placement: new Placement(nodes.map((node) => ({ node, weight: 1 }))),
    live: () => nodes.map((node) => ({ node, incarnation: `life of ${node}`, draining: false })),
    drain: async () => void done.push('draining'),
    ownership: {
      unloadedShards: () => [],
      redirect: () => undefined,
      release: async (key: string, to?: { node: string }) => {
        await release(indexOf(key));
        done.push(to ? `give ${indexOf(key)} to ${to.node}` : `release ${indexOf(key)}`);
        return true;
      },
    },
  };
  const clock = { monotonicMs: () => time.nowMs };
  const handOver = new HandOver({
    shardCache,
    membership,
    catalog: { getCollection: async () => ROW },
    peers: {
      adopt: async (node: string, { index }: ShardSpec, maxMs?: number) => {
        const late = new Promise((_, reject) => {
          if (maxMs !== undefined) time.after(maxMs, () => reject(new Error('no answer')));
        });
        late.catch(() => undefined);
        await Promise.race([adopt(node, String(index)), late]);
        done.push(`opened ${index} at ${node}`);
      },
      follow: async (node: string, _spec: ShardSpec, seq: number) => {
        await time.delay(5);
        return { seq: follow(node, seq) };
      },
    },
    clock,
    timers: time,
    log: LOG,
  } as unknown as HandOverOptions);
  const drain = new Drain({
    handOver,
    shardCache,
    membership,
    isQuick: ({ spec }: { spec: ShardSpec }) => quick.includes(spec.index),
    clock,
    log: LOG,
  } as unknown as DrainOptions);
  return { time, done, handOver, drain };
}

/** The result of `work`, while up to `forMs` pass. */
export async function over<T>(time: VirtualTime, work: Promise<T>, forMs = 120_000): Promise<T> {
  work.catch(() => undefined);
  await time.run(time.nowMs + forMs);
  return work;
}
