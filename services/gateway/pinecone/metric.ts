import { invalid } from '../../../lib/records/fields.ts';
import type { Metric } from '../../../lib/store/catalog.ts';

/** Theirs, and ours for each. */
const METRICS: Readonly<Record<string, Metric>> = { cosine: 'cosine', dotproduct: 'dot', euclidean: 'euclidean' };

/** Ours. Throws the 400 that names theirs; `path`: of the field. */
export function metricOf(theirs: unknown, path: string): Metric {
  if (typeof theirs === 'string' && Object.hasOwn(METRICS, theirs)) return METRICS[theirs]!;
  const got = typeof theirs === 'string' ? 'another word' : 'no string';
  throw invalid(path, `one of ${Object.keys(METRICS).join(', ')}`, got);
}

export const pineconeMetric = (ours: Metric): string => (ours === 'dot' ? 'dotproduct' : ours);
