import type { CollectionId } from '../lib/ids.ts';
import type { ShardKey } from '../lib/shard/key.ts';

/**
 * Found when a shard opened: its stored bytes do not produce the root that was recorded for them.
 */
export interface Contradiction {
  /** The seq at which the shard opened. */
  seq: number;
  reason: string;
  /** ISO 8601 UTC. */
  at: string;
}

/** Decodes a stored contradiction of unknown origin. One that does not decode still counts. */
export function decodeContradiction({ seq, reason, at }: Record<keyof Contradiction, unknown>): Contradiction {
  return {
    seq: typeof seq === 'number' && Number.isSafeInteger(seq) ? seq : 0,
    reason: typeof reason === 'string' ? reason : 'A stored contradiction does not decode.',
    at: typeof at === 'string' ? at : '',
  };
}

/**
 * Contradictions stay until an operator decides. The shard's owner records one before the shard
 * accepts a write, because the first write after it commits a root that includes the changed bytes.
 * After that write only `contradicted` in its head shows that there was a contradiction, and
 * nothing shows what it was.
 */
export interface ContradictionStore {
  /** Stores the contradiction unless the shard already has one. */
  record(shard: ShardKey, contradiction: Contradiction): Promise<void>;
  /** Returns the collection's contradictions by shard index. */
  list(collectionId: CollectionId): Promise<Contradiction[]>;
  clear(collectionId: CollectionId): Promise<void>;
}
