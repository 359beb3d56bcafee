import type { ShardKey } from '../../../lib/shard/key.ts';
import type { ShardWriter } from '../engine/port.ts';
import type { WorkerHandlers, WorkerOp } from './protocol.ts';
import { withSnapshot } from './reads.ts';
import { RecomputeSession } from './recompute-session.ts';

type RecomputeOp = Extract<WorkerOp, `recompute${string}`>;

/**
 * Handles the requests of recomputations and keeps their sessions. `shardOf` throws for a shard
 * that is not open.
 */
export function recomputeHandlers(shardOf: (key: ShardKey) => ShardWriter): WorkerHandlers<RecomputeOp> {
  const sessions = new Map<string, RecomputeSession>();
  const sessionOf = (id: string): RecomputeSession => {
    const session = sessions.get(id);
    if (!session) throw new Error('no such recompute session');
    return session;
  };
  return {
    recomputeBegin: ({ session, spec }) => void sessions.set(session, new RecomputeSession(spec)),
    recomputeLeftOut: ({ session, ...leftOut }) => void sessionOf(session).addSkipped(leftOut),
    recomputeHead: ({ session, seq, version }) => {
      const recomputed = sessionOf(session);
      return { head: recomputed.head(seq, version), contradicting: recomputed.contradicting };
    },
    recomputeCompare: ({ session, key, limit }) =>
      key === null
        ? sessionOf(session).compare(null, limit)
        : withSnapshot(shardOf(key), (snapshot) => sessionOf(session).compare(snapshot, limit)),
    recomputeAltered: ({ session, entry, limit }) => sessionOf(session).alteredIn(entry, limit),
    recomputeEnd: ({ session }) => void sessions.delete(session),
    recomputeRecords: ({ session, records }) => sessionOf(session).addRecords(records),
    recomputeEntries: ({ session, entries }) => sessionOf(session).addEntries(entries),
    recomputeWitness: ({ session, entries }) => sessionOf(session).addWitness(entries),
  };
}
