import type { ShardKey } from '../../../lib/shard/shard-key.ts';
import type { Shard } from '../engine/shard.ts';
import type { WorkerHandlers, WorkerOp } from './protocol.ts';
import { RecomputeSession } from './recompute-session.ts';

type RecomputeOp = Extract<WorkerOp, `recompute${string}`>;

/** Answers the requests of recomputations, whose sessions it keeps. `shardOf` throws for a shard that is not open. */
export function recomputeHandlers(shardOf: (key: ShardKey) => Shard): WorkerHandlers<RecomputeOp> {
  const sessions = new Map<string, RecomputeSession>();
  const sessionOf = (id: string): RecomputeSession => {
    const session = sessions.get(id);
    if (!session) throw new Error('no such recompute session');
    return session;
  };
  return {
    recomputeBegin: ({ session, spec }) => {
      sessions.set(session, new RecomputeSession(spec));
      return null;
    },
    recomputeRecords: ({ session, records }) => {
      sessionOf(session).addRecords(records);
      return null;
    },
    recomputeUnreadable: ({ session, ids }) => {
      sessionOf(session).addUnreadable(ids);
      return null;
    },
    recomputeEntries: ({ session, entries }) => {
      sessionOf(session).addEntries(entries);
      return null;
    },
    recomputeHead: ({ session, seq, version }) => {
      const recomputed = sessionOf(session);
      return { head: recomputed.head(seq, version), contradicting: recomputed.contradicting };
    },
    recomputeWitness: ({ session, entries }) => {
      sessionOf(session).addWitness(entries);
      return null;
    },
    recomputeCompare: ({ session, key, limit }) => {
      return sessionOf(session).compare(key === null ? null : shardOf(key), limit);
    },
    recomputeAltered: ({ session, entry, limit }) => sessionOf(session).alteredIn(entry, limit),
    recomputeEnd: ({ session }) => {
      sessions.delete(session);
      return null;
    },
  };
}
