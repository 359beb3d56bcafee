import type { ShardMatch } from '../../../lib/shard/match.ts';

const NO_VALUES = new Float32Array(0);
const NO_METADATA = '{}';

/** Metadata is left out where there is none. */
export const recordOf = <R extends { metadata?: string }>(
  record: R,
): Omit<R, 'metadata'> & { metadata?: string | undefined } => ({
  ...record,
  metadata: record.metadata === NO_METADATA ? undefined : record.metadata,
});

const FLOAT32_MAX = 3.4028234663852886e38;

/**
 * Their euclidean score is the squared distance; of a rounded root it is right to float32, and
 * where that has no such square, the largest there is.
 */
export const matchOf = ({ distance, ...match }: ShardMatch): ShardMatch => ({
  ...recordOf(match),
  score: distance === undefined ? match.score : Math.min(Math.fround(distance ** 2), FLOAT32_MAX),
  values: match.values ?? NO_VALUES,
});
