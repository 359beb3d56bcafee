import type { FetchedRecord, ShardMatch } from '../../../lib/actions/shards.ts';

const RECORD_OVERHEAD_BYTES = 128;

/** Bytes that an answer's vectors take. */
export function vectorBytes(records: number, dimensions: number): number {
  return records * dimensions * Float32Array.BYTES_PER_ELEMENT;
}

/** Bytes that an answer's records take in memory, roughly. */
export function recordBytes(records: readonly (FetchedRecord | ShardMatch)[]): number {
  return records.reduce(
    (bytes, { id, metadata, values }) =>
      bytes + RECORD_OVERHEAD_BYTES + id.length + (metadata?.length ?? 0) + (values?.byteLength ?? 0),
    0,
  );
}
