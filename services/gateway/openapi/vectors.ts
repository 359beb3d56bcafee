import { CONSISTENCIES } from '../../../lib/actions/collections.ts';
import type { Limits } from '../../../lib/limits.ts';
import { filterSchemas } from './filters.ts';
import type { RouteText } from './operation.ts';
import {
  flag,
  integer,
  list,
  MERKLE_ROOT,
  nullable,
  object,
  ref,
  request,
  type Schema,
  type Schemas,
  text,
} from './schema.ts';

const TAG = 'Vectors';
const vector = (limits: Limits, description: string): Schema =>
  list({ type: 'number' }, { minItems: 1, maxItems: limits.dimensionsMax, description });
const METADATA: Schema = { type: 'object', description: 'Free-form JSON object.', additionalProperties: true };

const CONSISTENCY: Schema = {
  ...text(
    '`strong`: every write that was acknowledged before is in the answer. `eventual`: a copy may answer, which may be behind.',
    { enum: [...CONSISTENCIES] },
  ),
  default: 'strong',
};
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
  const ids = list(ref('RecordId'), { minItems: 1, maxItems: limits.idsPerRequestMax });
  const metadata: Schema = {
    ...METADATA,
    description: `At most ${limits.metadataMaxBytes} bytes as compact JSON and ${limits.metadataMaxLevels} levels; returned equal to what was sent.`,
  };
  return {
    RecordId: text(`1 to ${limits.idMaxBytes} bytes of well-formed UTF-8, any characters.`, {
      minLength: 1,
      maxLength: limits.idMaxBytes,
    }),
    AnchorStatus: text('`none` on plans without anchoring.', { enum: ['confirmed', 'pending', 'none'] }),
    Record: request(
      {
        id: ref('RecordId'),
        values: vector(
          limits,
          'As many as the collection has dimensions; stored as float32. For `cosine` not all zero.',
        ),
        metadata,
      },
      ['metadata'],
    ),
    Upsert: request({
      records: list(ref('Record'), {
        minItems: 1,
        maxItems: limits.recordsPerUpsertMax,
        description: 'Of records with one id the last wins.',
      }),
    }),
    UpsertResult: writeResult({ upsertedCount: integer('Records written.') }),
    Ids: request({ ids }),
    Fetch: request({ ids, consistency: CONSISTENCY }, ['consistency']),
    DeleteResult: writeResult({
      deleted: { type: 'boolean', const: true },
      deletedCount: integer('Records that existed.'),
    }),
    Query: {
      ...request(
        {
          vector: vector(limits, 'What to search near to.'),
          id: ref('RecordId'),
          topK: integer('Most matches to return.', {
            minimum: 1,
            maximum: limits.topKMax,
            default: limits.topKDefault,
          }),
          filter: ref('Filter'),
          includeValues: flag('Return the vectors as well.', { default: false }),
          includeMetadata: flag('Return the metadata as well.', { default: true }),
          scoreThreshold: { type: 'number', description: 'Only matches with at least this score.' },
          exact: flag('Compare with every record instead of searching the index.', { default: false }),
          consistency: CONSISTENCY,
          allowPartial: flag('Answer with the shards that can be reached within 3 s, and say how many.', {
            default: false,
          }),
        },
        [
          'vector',
          'id',
          'topK',
          'filter',
          'includeValues',
          'includeMetadata',
          'scoreThreshold',
          'exact',
          'consistency',
          'allowPartial',
        ],
      ),
      oneOf: [{ required: ['vector'] }, { required: ['id'] }],
    },
    ...filterSchemas(limits),
    Match: object(
      {
        id: ref('RecordId'),
        score: {
          type: 'number',
          description: 'Higher is better: cosine similarity, dot product, or 1 / (1 + distance) for euclidean.',
        },
        metadata: METADATA,
        values: vector(limits, 'With includeValues.'),
        distance: { type: 'number', description: 'euclidean only.' },
      },
      ['metadata', 'values', 'distance'],
    ),
    StoredRecord: object({
      id: ref('RecordId'),
      values: vector(limits, 'Stored as float32.'),
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
    request: ref('Upsert'),
    response: ref('UpsertResult'),
    errors: ['DIMENSION_MISMATCH', 'PLAN_LIMIT_REACHED', 'OUT_OF_CAPACITY'],
  },
  {
    route: 'POST /collections/{name}/query',
    id: 'queryVectors',
    summary: 'Find the most similar records',
    description: 'Exactly one of `vector` and `id`. Best first, ties by id.',
    tag: TAG,
    request: ref('Query'),
    response: object({ matches: list(ref('Match')), shards: SHARD_COUNTS }, ['shards']),
    errors: ['DIMENSION_MISMATCH', 'INVALID_FILTER', 'RECORD_NOT_FOUND', 'PLAN_LIMIT_REACHED'],
  },
  {
    route: 'POST /collections/{name}/fetch',
    id: 'fetchVectors',
    summary: 'Records by id; absent ones are left out',
    tag: TAG,
    request: ref('Fetch'),
    response: object({ vectors: { type: 'object', description: 'By id.', additionalProperties: ref('StoredRecord') } }),
    errors: [],
  },
  {
    route: 'POST /collections/{name}/delete',
    id: 'deleteVectors',
    summary: 'Delete records by id',
    tag: TAG,
    request: ref('Ids'),
    response: ref('DeleteResult'),
    errors: [],
  },
];
