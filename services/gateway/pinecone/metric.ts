import type { Metric } from '../../../lib/store/catalog.ts';

const PINECONE_NAME = 'dotproduct';

/** Ours; what is none of theirs is left for the check to refuse. */
export const metricOf = (theirs: unknown): unknown => (theirs === PINECONE_NAME ? 'dot' : theirs);

export const pineconeMetric = (ours: Metric): string => (ours === 'dot' ? PINECONE_NAME : ours);
