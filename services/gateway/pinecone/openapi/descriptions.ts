import { countSchema, listSchema, type OpenApiSchema, object, ref } from '../../openapi/schema.ts';
import { INDEX } from '../route.ts';

/** Description of a route's operation. A null schema means an empty response body. */
type PineconeDescription = readonly [id: string, summary: string, answer: OpenApiSchema | null, description?: string];

const NOTHING = object({});

/** Descriptions by tag, then by method and path. */
export const PINECONE_DESCRIPTIONS: Readonly<Record<string, Readonly<Record<string, PineconeDescription>>>> = {
  Vectors: {
    [`POST ${INDEX}/query`]: [
      'query_vectors',
      'Find the most similar vectors',
      ref('QueryResult'),
      'An unknown id or namespace matches nothing.',
    ],
    [`POST ${INDEX}/vectors/upsert`]: [
      'upsert_vectors',
      'Write vectors; an existing vector is replaced as a whole',
      object({ upsertedCount: countSchema('Vectors written.') }),
      'The response does not wait for the anchor of the write.',
    ],
    [`GET ${INDEX}/vectors/fetch`]: ['fetch_vectors', 'Get vectors by id', ref('FetchResult')],
    [`POST ${INDEX}/vectors/fetch_by_metadata`]: [
      'fetch_vectors_by_metadata',
      'Get vectors that match a filter, in the order of their ids',
      ref('FetchResult'),
    ],
    [`GET ${INDEX}/vectors/list`]: ['list_vectors', 'List vector ids, in the order of their bytes', ref('ListResult')],
    [`POST ${INDEX}/vectors/delete`]: [
      'delete_vectors',
      'Delete vectors by id, by filter, or a whole namespace',
      NOTHING,
      'Requires exactly one of `ids`, `filter` and `deleteAll`.',
    ],
    [`POST ${INDEX}/vectors/update`]: [
      'update_vector',
      'Change a vector, or merge into the metadata of all vectors that match a filter',
      object({ matchedRecords: countSchema('Number of matches; only with a filter.') }, ['matchedRecords']),
      'The merge is shallow: each key is set as a whole.',
    ],
  },
  Indexes: {
    'POST /indexes': [
      'create_index',
      'Create an index: a collection with that name',
      ref('Index'),
      'Dimension and metric are in the body or in its `schema`, which takes precedence. Provec stores cloud and region, and returns them.',
    ],
    'GET /indexes': ['list_indexes', 'List indexes, newest first', object({ indexes: listSchema(ref('Index')) })],
    [`GET ${INDEX}`]: ['describe_index', 'Get an index', ref('Index')],
    [`PATCH ${INDEX}`]: [
      'configure_index',
      'Change deletion protection or tags',
      ref('Index'),
      'Only the given tags change; an empty text removes a tag.',
    ],
    [`DELETE ${INDEX}`]: [
      'delete_index',
      'Delete an index with everything in it',
      null,
      'The index disappears at once.',
    ],
  },
  Namespaces: {
    [`GET ${INDEX}/namespaces`]: ['list_namespaces', 'List the namespaces with vectors, by name', ref('NamespacePage')],
    [`POST ${INDEX}/namespaces`]: [
      'create_namespace',
      'Return the number of vectors in a namespace; creates nothing',
      ref('NamespaceCount'),
      'A namespace exists as long as it has a vector.',
    ],
    [`GET ${INDEX}/namespaces/{namespace}`]: ['describe_namespace', 'Get a namespace', ref('NamespaceCount')],
    [`DELETE ${INDEX}/namespaces/{namespace}`]: ['delete_namespace', 'Delete all vectors of a namespace', NOTHING],
    [`POST ${INDEX}/describe_index_stats`]: [
      'describe_index_stats',
      'Count the vectors of each namespace',
      ref('Statistics'),
    ],
    [`GET ${INDEX}/describe_index_stats`]: ['get_index_stats', 'The same, without a request body', ref('Statistics')],
  },
};
