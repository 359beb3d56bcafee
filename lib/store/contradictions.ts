import type { ShardKey } from '../shard/key.ts';

/**
 * What was found when a shard opened: its stored bytes do not give the root that was recorded for
 * them.
 */
export interface Contradiction {
  /** The seq that the shard opened at. */
  seq: number;
  reason: string;
  /** ISO 8601 UTC. */
  at: string;
}

/** Decodes a stored contradiction that anyone may have written. An undecodable one still counts. */
export function readableContradiction({ seq, reason, at }: Record<keyof Contradiction, unknown>): Contradiction {
  return {
    seq: Number.isSafeInteger(seq) ? (seq as number) : 0,
    reason: typeof reason === 'string' ? reason : 'A stored contradiction does not decode.',
    at: typeof at === 'string' ? at : '',
  };
}

/**
 * Contradictions stay until an operator decides. They are kept apart from the anchors, and written
 * by the shard's owner before the shard takes a write, because the first write after one records a
 * root that contains the changed bytes: from then on only that write's head tells of one, by its
 * `contradicted`, and nothing tells what it was.
 */
export interface ContradictionStore {
  /** Keeps the first one of each shard. */
  record(shard: ShardKey, contradiction: Contradiction): Promise<void>;
  /** In the order of shard indexes. */
  list(collectionId: string): Promise<Contradiction[]>;
  clear(collectionId: string): Promise<void>;
}
