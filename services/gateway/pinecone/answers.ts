import type { ShardMatch } from '../../../lib/shard/match.ts';

const NO_VALUES = new Float32Array(0);
const NO_METADATA = '{}';

/** Omits empty metadata. */
export const recordOf = <R extends { metadata?: string }>(
  record: R,
): Omit<R, 'metadata'> & { metadata?: string | undefined } => ({
  ...record,
  metadata: record.metadata === NO_METADATA ? undefined : record.metadata,
});

const FLOAT32_MAX = 3.4028234663852886e38;

/**
 * Returns a match as Pinecone has it. Pinecone's euclidean score is the squared distance. It is
 * accurate to float32, and capped at the largest float32.
 */
export const matchOf = ({ distance, ...match }: ShardMatch): ShardMatch => ({
  ...recordOf(match),
  score: distance === undefined ? match.score : Math.min(Math.fround(distance ** 2), FLOAT32_MAX),
  values: match.values ?? NO_VALUES,
});
