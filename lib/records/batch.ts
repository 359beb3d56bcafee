/**
 * Records on their way to one shard or one collection, laid out so that a worker can take them over without copying:
 * row i is `ids[i]`, `vectors[i * dimensions ..]`, `metadata[i]` (canonical JSON, RFC 8785). No id occurs twice.
 */
export interface RecordBatch {
  ids: string[];
  dimensions: number;
  vectors: Float32Array;
  metadata: string[];
}
