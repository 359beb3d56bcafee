import { describeValue } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { RecordBatch } from './batch.ts';
import { boundedArray, invalidValue, isJsonObject, type JsonObject, refuseUnknownFields } from './fields.ts';
import { decodeId, decodeNamespace } from './ids.ts';
import { canonicalMetadata } from './metadata.ts';
import type { Metric } from './metric.ts';
import { storedId } from './namespace.ts';
import { writeVector } from './vector.ts';

export const RECORD_FIELDS = ['id', 'values', 'metadata'] as const;
const NAMESPACED_FIELDS = [...RECORD_FIELDS, 'namespace'] as const;

/** Properties of the collection and limits that records are checked against. */
interface Shape {
  dimensions: number;
  metric: Metric;
  limits: Limits;
}

/**
 * Checks the records of an upsert and lays them out as a batch. If several have the same id, the
 * last one wins, at the first one's position. Throws INVALID_ARGUMENT or DIMENSION_MISMATCH with
 * the path, such as `records[3].values[17]`. Keeps no reference to `records`.
 */
export function decodeRecords(records: unknown, shape: Shape, min = 1): RecordBatch {
  const { limits } = shape;
  const given = boundedArray(records, 'records', min, limits.recordsPerUpsertMax, 'records');
  const idOf = (record: JsonObject, path: string): string => decodeId(record.id, `${path}.id`, limits);
  return batchOf(given, (at) => `records[${at}]`, RECORD_FIELDS, idOf, shape);
}

/** Same as `decodeRecords`, for records with a `namespace` field; the batch has stored ids. */
export function decodeNamespacedRecords(
  given: readonly unknown[],
  pathOf: (at: number) => string,
  shape: Shape,
): RecordBatch {
  const { limits } = shape;
  const idOf = ({ id, namespace = '' }: JsonObject, path: string): string =>
    storedId(decodeNamespace(namespace, `${path}.namespace`, limits), decodeId(id, `${path}.id`, limits));
  return batchOf(given, pathOf, NAMESPACED_FIELDS, idOf, shape);
}

function batchOf(
  given: readonly unknown[],
  pathOf: (at: number) => string,
  fields: readonly string[],
  idOf: (record: JsonObject, path: string) => string,
  { dimensions, metric, limits }: Shape,
): RecordBatch {
  const rows = new Map<string, number>();
  const ids: string[] = [];
  const metadata: string[] = [];
  const vectors = new Float32Array(given.length * dimensions);
  for (let i = 0; i < given.length; i++) {
    const record = given[i];
    const path = pathOf(i);
    if (!isJsonObject(record))
      throw invalidValue(path, 'an object with id, values and metadata', describeValue(record));
    refuseUnknownFields(record, fields, path);
    const id = idOf(record, path);
    const row = rows.get(id) ?? ids.length;
    writeVector(vectors, row * dimensions, record.values, `${path}.values`, dimensions, metric);
    metadata[row] = canonicalMetadata(record.metadata, `${path}.metadata`, limits);
    if (row === ids.length) {
      rows.set(id, row);
      ids.push(id);
    }
  }
  // Copied if duplicates were dropped, so that its buffer can be transferred without excess bytes.
  return {
    ids,
    dimensions,
    vectors: ids.length === given.length ? vectors : vectors.slice(0, ids.length * dimensions),
    metadata,
  };
}
