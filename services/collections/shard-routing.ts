import { keyHashOf } from '../../lib/merkle/leaf.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';

/**
 * The shard an id belongs to, of `of` shards (a power of two up to 256): the top log2(of) bits of
 * its keyHash.
 */
export function shardIndexOf(id: string, of: number): number {
  return of === 1 ? 0 : (keyHashOf(id)[0] * of) >> 8;
}

/** The ids by shard index, each list in the order given. */
export function splitIds(ids: string[], of: number): Map<number, string[]> {
  return of === 1 ? new Map([[0, ids]]) : Map.groupBy(ids, (id) => shardIndexOf(id, of));
}

/** The records by shard index; with one shard the batch itself. */
export function splitBatch(batch: RecordBatch, of: number): Map<number, RecordBatch> {
  if (of === 1) return new Map([[0, batch]]);
  const rows = Map.groupBy(batch.ids.keys(), (row) => shardIndexOf(batch.ids[row], of));
  return new Map([...rows].map(([index, part]) => [index, pick(batch, part)]));
}

function pick(batch: RecordBatch, rows: number[]): RecordBatch {
  const { dimensions } = batch;
  const vectors = new Float32Array(rows.length * dimensions);
  rows.forEach((row, to) => {
    vectors.set(batch.vectors.subarray(row * dimensions, (row + 1) * dimensions), to * dimensions);
  });
  return {
    ids: rows.map((row) => batch.ids[row]),
    dimensions,
    vectors,
    metadata: rows.map((row) => batch.metadata[row]),
  };
}
