import { itemAt } from '../../lib/checked-access.ts';
import { keyHashOf } from '../../lib/merkle/leaf.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';

/**
 * Returns the index of the shard that an id belongs to: the top log2(of) bits of its keyHash. `of`
 * is the number of shards, a power of two up to 256.
 */
export function shardIndexOf(id: string, of: number): number {
  return of === 1 ? 0 : (keyHashOf(id).readUInt8(0) * of) >> 8;
}

/** Groups the ids by shard index, in the given order. */
export function splitIds(ids: string[], of: number): Map<number, string[]> {
  return of === 1 ? new Map([[0, ids]]) : Map.groupBy(ids, (id) => shardIndexOf(id, of));
}

/** Groups the records by shard index. With one shard, returns the batch itself. */
export function splitBatch(batch: RecordBatch, of: number): Map<number, RecordBatch> {
  if (of === 1) return new Map([[0, batch]]);
  const rows = Map.groupBy(batch.ids.keys(), (row) => shardIndexOf(itemAt(batch.ids, row), of));
  return new Map([...rows].map(([index, part]) => [index, pick(batch, part)]));
}

function pick(batch: RecordBatch, rows: number[]): RecordBatch {
  const { dimensions } = batch;
  const vectors = new Float32Array(rows.length * dimensions);
  rows.forEach((row, to) => {
    vectors.set(batch.vectors.subarray(row * dimensions, (row + 1) * dimensions), to * dimensions);
  });
  return {
    ids: rows.map((row) => itemAt(batch.ids, row)),
    dimensions,
    vectors,
    metadata: rows.map((row) => itemAt(batch.metadata, row)),
  };
}
