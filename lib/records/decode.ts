import { describe } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Metric } from '../store/catalog.ts';
import type { RecordBatch } from './batch.ts';
import { boundedArray, invalid, isJsonObject, refuseUnknownFields } from './fields.ts';
import { decodeId } from './ids.ts';
import { canonicalMetadata } from './metadata.ts';
import { writeVector } from './vector.ts';

export const RECORD_FIELDS = ['id', 'values', 'metadata'] as const;

/**
 * Checks the records of an upsert and lays them out as a batch, in one pass. Of records with the
 * same id the last wins and takes the first one's place. Throws INVALID_ARGUMENT or
 * DIMENSION_MISMATCH naming the path, such as `records[3].values[17]`. Nothing of `records` is
 * kept.
 */
export function decodeRecords(records: unknown, dimensions: number, limits: Limits, metric: Metric): RecordBatch {
  const given = boundedArray(records, 'records', 1, limits.recordsPerUpsertMax, 'records');
  const rows = new Map<string, number>();
  const ids: string[] = [];
  const metadata: string[] = [];
  const vectors = new Float32Array(given.length * dimensions);
  for (let i = 0; i < given.length; i++) {
    const record = given[i];
    const path = `records[${i}]`;
    if (!isJsonObject(record)) throw invalid(path, 'an object with id, values and metadata', describe(record));
    refuseUnknownFields(record, RECORD_FIELDS, path);
    const id = decodeId(record.id, `${path}.id`, limits);
    const row = rows.get(id) ?? ids.length;
    writeVector(vectors, row * dimensions, record.values, `${path}.values`, dimensions, metric);
    metadata[row] = canonicalMetadata(record.metadata, `${path}.metadata`, limits);
    if (row === ids.length) {
      rows.set(id, row);
      ids.push(id);
    }
  }
  // A copy of its own when duplicates fell away, so that the buffer behind it can be transferred as
  // it is.
  return {
    ids,
    dimensions,
    vectors: ids.length === given.length ? vectors : vectors.slice(0, ids.length * dimensions),
    metadata,
  };
}
