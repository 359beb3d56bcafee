import { collectionFields, collectionName } from '../../../../contracts/requests/collection-requests.ts';
import { namespace, recordId, vector } from '../../../../contracts/requests/vector-requests.ts';
import type { Limits } from '../../../../lib/limits.ts';
import {
  countSchema,
  flagSchema,
  integerSchema,
  listSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
} from '../../openapi/schema.ts';
import { ERROR_CODES } from '../dialect.ts';
import { metric, protection } from './requests.ts';

const ERROR = object({
  status: integerSchema('HTTP status.'),
  error: object({
    code: textSchema('Error code, for programs.', { enum: [...new Set(ERROR_CODES.map(([code]) => code))] }),
    message: textSchema('Says what is wrong and what to do.'),
  }),
  code: integerSchema("gRPC's number for `error.code`.", {
    enum: [...new Set(ERROR_CODES.map(([, number]) => number))],
  }),
  message: textSchema('Same as in `error`.'),
  details: listSchema({ type: 'object' }, { maxItems: 0 }),
});

const PLACE: OpenApiSchemas = {
  cloud: textSchema('As given when the index was created, else `provec`.'),
  region: textSchema('As given when the index was created, else `self-hosted`.'),
};
const STATE: OpenApiSchema = { type: 'string', const: 'Ready' };
const READ_CAPACITY = object({ mode: { type: 'string', const: 'OnDemand' }, status: object({ state: STATE }) });
const USAGE = object({ readUnits: { type: 'integer', const: 1 } });
const PAGINATION = object({ next: textSchema('The `paginationToken` of the next page.') }, [], {
  description: 'Absent on the last page.',
});
const METADATA: OpenApiSchema = { type: 'object', description: 'Free-form JSON object.', additionalProperties: true };

function indexSchema(limits: Limits): OpenApiSchema {
  const { dimensions: dimension, tags } = collectionFields(limits);
  const field = { dimension: dimension.schema, metric };
  return object(
    {
      name: ref('IndexName'),
      host: textSchema('Base URL of the paths below the index.'),
      status: object({ ready: flagSchema('Always true.'), state: STATE }),
      deletion_protection: protection,
      tags: tags.schema,
      ...field,
      vector_type: { type: 'string', const: 'dense' },
      spec: object({ serverless: object({ ...PLACE, read_capacity: READ_CAPACITY }) }),
      deployment: object({ deployment_type: { type: 'string', const: 'managed' }, ...PLACE }),
      schema: object({
        fields: object({ _values: object({ type: { type: 'string', const: 'dense_vector' }, ...field }) }),
      }),
      read_capacity: READ_CAPACITY,
    },
    ['tags'],
  );
}

export function answerSchemas(limits: Limits): OpenApiSchemas {
  const values = vector(limits, 'Stored as float32.').schema;
  const stored = object({ id: ref('RecordId'), values, metadata: METADATA }, ['metadata']);
  const match = {
    id: ref('RecordId'),
    score: { type: 'number', description: 'Higher is better. For `euclidean`: the squared distance; lower is better.' },
    values: { ...values, minItems: 0, description: 'Empty without `includeValues`.' },
    metadata: METADATA,
  };
  const vectors = { type: 'object', description: 'By id; missing ones are left out.', additionalProperties: stored };
  const one = namespace(limits).schema;
  return {
    Error: ERROR,
    IndexName: collectionName(limits).schema,
    Index: indexSchema(limits),
    RecordId: recordId(limits).schema,
    Namespace: { ...one, description: `${one.description} So is \`__default__\`.` },
    QueryResult: object({
      matches: listSchema(object(match, ['metadata'])),
      namespace: ref('Namespace'),
      usage: USAGE,
    }),
    FetchResult: object({ vectors, namespace: ref('Namespace'), pagination: PAGINATION, usage: USAGE }, ['pagination']),
    ListResult: object(
      {
        vectors: listSchema(object({ id: ref('RecordId') })),
        pagination: PAGINATION,
        namespace: ref('Namespace'),
        usage: USAGE,
      },
      ['pagination'],
    ),
    NamespaceCount: object({
      name: ref('Namespace'),
      record_count: textSchema('Number of vectors.', { pattern: '^\\d+$' }),
    }),
    NamespacePage: object(
      {
        namespaces: listSchema(ref('NamespaceCount')),
        total_count: countSchema('Number of namespaces on all pages.'),
        pagination: PAGINATION,
      },
      ['pagination'],
    ),
    Statistics: object({
      namespaces: {
        type: 'object',
        description: 'By name.',
        additionalProperties: object({ vectorCount: countSchema('Number of vectors.') }),
      },
      dimension: collectionFields(limits).dimensions.schema,
      indexFullness: { type: 'number', const: 0 },
      totalVectorCount: countSchema('Number of vectors in all namespaces.'),
      metric,
      vectorType: { type: 'string', const: 'dense' },
    }),
  };
}
