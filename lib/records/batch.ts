/**
 * Records on their way to one shard or one collection, laid out so that a worker can take them over
 * without copying: row i is `ids[i]`, `vectors[i * dimensions ..]`, `metadata[i]` (canonical JSON,
 * RFC 8785). No id occurs twice.
 */
export interface RecordBatch {
  ids: string[];
  dimensions: number;
  vectors: Float32Array;
  metadata: string[];
}

/** Bytes of its vectors, and characters of its ids and metadata. */
export function batchBytes({ ids, metadata, vectors }: RecordBatch): number {
  const characters = (texts: string[]) => texts.reduce((total, text) => total + text.length, 0);
  return vectors.byteLength + characters(ids) + characters(metadata);
}
