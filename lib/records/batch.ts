/**
 * Records for one shard or one collection, laid out so that they can be transferred to a worker
 * without copying. Row i is `ids[i]`, `vectors[i * dimensions ..]` and `metadata[i]` (canonical
 * JSON, RFC 8785). Ids are distinct.
 */
export interface RecordBatch {
  ids: string[];
  dimensions: number;
  vectors: Float32Array;
  metadata: string[];
}

/** Returns the bytes of the vectors plus the characters of ids and metadata. */
export function batchBytes({ ids, metadata, vectors }: RecordBatch): number {
  const characters = (texts: string[]) => texts.reduce((total, text) => total + text.length, 0);
  return vectors.byteLength + characters(ids) + characters(metadata);
}
