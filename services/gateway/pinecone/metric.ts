import { invalidValue } from '../../../lib/records/fields.ts';
import type { Metric } from '../../../lib/records/metric.ts';

/** Provec's metric for each of Pinecone's. */
const METRICS = new Map<unknown, Metric>([
  ['cosine', 'cosine'],
  ['dotproduct', 'dot'],
  ['euclidean', 'euclidean'],
]);

/**
 * Returns Provec's metric. Throws INVALID_ARGUMENT with a list of Pinecone's metrics. `path` is the
 * path of the field.
 */
export function metricOf(theirs: unknown, path: string): Metric {
  const ours = METRICS.get(theirs);
  if (ours !== undefined) return ours;
  const got = typeof theirs === 'string' ? 'another word' : 'no string';
  throw invalidValue(path, `one of ${[...METRICS.keys()].join(', ')}`, got);
}

export const pineconeMetric = (ours: Metric): string => (ours === 'dot' ? 'dotproduct' : ours);
