import { filterSchemas } from '../../../lib/filter/filter-schema.ts';
import type { Limits } from '../../../lib/limits.ts';
import { recordId, recordSchema, vector } from '../../../lib/requests/vector-requests.ts';
import type { RouteText } from './operation.ts';
import { integer, list, MERKLE_ROOT, nullable, object, ref, type Schema, type Schemas, text } from './schema.ts';

const TAG = 'Vectors';
const METADATA: Schema = { type: 'object', description: 'Free-form JSON object.', additionalProperties: true };

const SHARD_COUNTS: Schema = {
  ...object({
    total: integer('Shards of the collection.'),
    ok: integer('Those that answered.'),
    failed: integer('Those that could not be reached in time; their matches are missing.'),
  }),
  description: 'With `allowPartial` only.',
};

function writeResult(more: Schemas): Schema {
  return object({
    ...more,
    merkleRoot: MERKLE_ROOT,
    ledgerProgram: text('Address of the anchoring program on the ledger.'),
    ledgerTx: nullable(
      text('Transaction that anchored a root with this write; null while pending and on plans without anchoring.'),
    ),
    ledgerExplorerUrl: nullable(text('That transaction in an explorer.')),
    version: integer('Counts the writes behind the root, in groups as they were committed; only grows.'),
    vectorCount: integer('Stored vectors after the write.'),
    anchor: object({ status: ref('AnchorStatus') }),
  });
}

export function vectorSchemas(limits: Limits): Schemas {
  const values = (description: string): Schema => vector(limits, description).schema;
  return {
    RecordId: recordId(limits).schema,
    AnchorStatus: text('`none` on plans without anchoring.', { enum: ['confirmed', 'pending', 'none'] }),
    Record: recordSchema(limits),
    UpsertResult: writeResult({ upsertedCount: integer('Records written.') }),
    DeleteResult: writeResult({
      deleted: { type: 'boolean', const: true },
      deletedCount: integer('Records that existed.'),
    }),
    ...filterSchemas(limits),
    Match: object(
      {
        id: ref('RecordId'),
        score: {
          type: 'number',
          description: 'Higher is better: cosine similarity, dot product, or 1 / (1 + distance) for euclidean.',
        },
        metadata: METADATA,
        values: values('With includeValues.'),
        distance: { type: 'number', description: 'euclidean only.' },
      },
      ['metadata', 'values', 'distance'],
    ),
    StoredRecord: object({
      id: ref('RecordId'),
      values: values('Stored as float32.'),
      metadata: METADATA,
    }),
  };
}

export const VECTOR_TEXTS: readonly RouteText[] = [
  {
    route: 'POST /collections/{name}/upsert',
    id: 'upsertVectors',
    summary: 'Write records; an existing record is replaced as a whole',
    description:
      'All or nothing per shard, and idempotent: after a time-out send the same request again. On plans with anchoring the answer waits a little for the anchor of its root.',
    tag: TAG,
    response: ref('UpsertResult'),
    errors: ['DIMENSION_MISMATCH', 'PLAN_LIMIT_REACHED'],
  },
  {
    route: 'POST /collections/{name}/query',
    id: 'queryVectors',
    summary: 'Find the most similar records',
    description: 'Exactly one of `vector` and `id`. Best first, ties by id.',
    tag: TAG,
    response: object({ matches: list(ref('Match')), shards: SHARD_COUNTS }, ['shards']),
    errors: ['DIMENSION_MISMATCH', 'INVALID_FILTER', 'RECORD_NOT_FOUND', 'PLAN_LIMIT_REACHED'],
  },
  {
    route: 'POST /collections/{name}/fetch',
    id: 'fetchVectors',
    summary: 'Records by id; absent ones are left out',
    tag: TAG,
    response: object({ vectors: { type: 'object', description: 'By id.', additionalProperties: ref('StoredRecord') } }),
    errors: [],
  },
  {
    route: 'POST /collections/{name}/delete',
    id: 'deleteVectors',
    summary: 'Delete records by id',
    tag: TAG,
    response: ref('DeleteResult'),
    errors: [],
  },
];
