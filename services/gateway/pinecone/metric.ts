import { invalidValue } from '../../../lib/records/fields.ts';
import type { Metric } from '../../../lib/records/metric.ts';

/** Provec's metric for each of Pinecone's. */
const METRICS: Readonly<Record<string, Metric>> = { cosine: 'cosine', dotproduct: 'dot', euclidean: 'euclidean' };

/**
 * Returns Provec's metric. Throws INVALID_ARGUMENT with a list of Pinecone's metrics. `path` is the
 * path of the field.
 */
export function metricOf(theirs: unknown, path: string): Metric {
  if (typeof theirs === 'string' && Object.hasOwn(METRICS, theirs)) return METRICS[theirs]!;
  const got = typeof theirs === 'string' ? 'another word' : 'no string';
  throw invalidValue(path, `one of ${Object.keys(METRICS).join(', ')}`, got);
}

export const pineconeMetric = (ours: Metric): string => (ours === 'dot' ? 'dotproduct' : ours);
