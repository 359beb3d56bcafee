import { METRICS } from '../../../../contracts/requests/collection-requests.ts';
import { LISTING_CURSOR_MAX_CHARS } from '../../../../contracts/requests/listing-cursor.ts';
import { place } from '../../../../contracts/requests/place.ts';
import { type DecodedRequest, type RequestName, requestsOf } from '../../../../contracts/requests/requests.ts';
import { recordSchema } from '../../../../contracts/requests/vector-requests.ts';
import type { Limits } from '../../../../lib/limits.ts';
import {
  flagSchema,
  type OpenApiParameters,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
} from '../../openapi/schema.ts';
import type { PINECONE_BODIES } from '../bodies.ts';
import { pineconeMetric } from '../metric.ts';

export type PineconeBody = keyof typeof PINECONE_BODIES;

export const metric = textSchema('How vectors are compared.', { enum: METRICS.map(pineconeMetric) });
export const protection = textSchema('Whether the index is protected from deletion.', {
  enum: ['enabled', 'disabled'],
});

const NO_NUMBERS: OpenApiSchema = { type: 'array', items: { type: 'number' }, maxItems: 0 };
const NO_SPARSE: OpenApiSchema = {
  type: ['object', 'null'],
  properties: { indices: NO_NUMBERS, values: NO_NUMBERS },
  description: 'Must be empty: Provec supports only dense vectors.',
};
const NO_SOURCE: OpenApiSchema = {
  type: 'null',
  description: 'Must be null: Provec does not copy indexes. Export the source and import it instead.',
};
const namespace = ref('Namespace');
/** Tokens of namespace pages have a count before the cursor. */
const TOKEN_MAX_CHARS = LISTING_CURSOR_MAX_CHARS + 16;
const paginationToken = textSchema('`pagination.next` of the previous page.', { maxLength: TOKEN_MAX_CHARS });
const someOf = (...names: string[]): OpenApiSchema => ({ anyOf: names.map((name) => ({ required: [name] })) });
const oneOf = (...names: string[]): OpenApiSchema => ({ oneOf: names.map((name) => ({ required: [name] })) });
/** Returns a schema of an object; all properties are optional unless `more` says otherwise. */
const any = (properties: OpenApiSchemas, more: OpenApiSchema = {}): OpenApiSchema => ({
  type: 'object',
  properties,
  ...more,
});

/** Returns the schemas of a request's fields. Pinecone renames some of them. */
const fieldsOf = <N extends RequestName>(limits: Limits, kind: N) =>
  requestsOf(limits)[kind].schema.properties as Readonly<Record<keyof DecodedRequest<N>, OpenApiSchema>>;

/** Returns the schemas of the bodies below `/pinecone`, with the bounds of our requests. */
export function bodySchemas(limits: Limits): Readonly<Record<PineconeBody, OpenApiSchema>> {
  const query = fieldsOf(limits, 'query');
  const deleted = fieldsOf(limits, 'delete');
  const update = fieldsOf(limits, 'update');
  const listed = fieldsOf(limits, 'list');
  const { dimensions: dimension, metric: ours, tags } = fieldsOf(limits, 'createCollection');
  const shape = { dimension, metric: { ...metric, default: ours.default } };
  const field = object({ type: { type: 'string', const: 'dense_vector' }, ...shape }, ['metric']);
  const changes = { deletion_protection: protection, tags };
  const placed = place.schema.properties as OpenApiSchemas;
  return {
    'pinecone/upsert': object({ vectors: { ...fieldsOf(limits, 'upsert').records, items: ref('Vector') }, namespace }, [
      'namespace',
    ]),
    'pinecone/query': any(
      {
        vector: query.vector,
        id: { ...ref('RecordId'), description: 'Search near the vector of this record; `vector` is then ignored.' },
        topK: query.topK,
        filter: ref('Filter'),
        includeValues: query.includeValues,
        includeMetadata: flagSchema('Return the metadata as well.'),
        namespace,
        sparseVector: NO_SPARSE,
      },
      someOf('vector', 'id'),
    ),
    'pinecone/delete': any(
      { ids: deleted.ids, deleteAll: deleted.all, filter: deleted.filter, namespace },
      oneOf('ids', 'deleteAll', 'filter'),
    ),
    'pinecone/update': any(
      {
        id: ref('RecordId'),
        filter: { ...update.filter, description: 'Selects the vectors to change.' },
        values: { ...query.vector, description: 'The new vector; only with `id`.' },
        setMetadata: update.setMetadata,
        dryRun: update.dryRun,
        namespace,
        sparseValues: NO_SPARSE,
      },
      oneOf('id', 'filter'),
    ),
    'pinecone/fetch': any({ filter: ref('Filter'), limit: listed.limit, paginationToken, namespace }),
    'pinecone/stats': any({
      filter: { type: 'object', maxProperties: 0, description: 'Must be empty: Provec counts whole namespaces.' },
    }),
    'pinecone/namespace': object({ name: namespace }),
    'pinecone/create': any(
      {
        name: { ...ref('IndexName'), description: 'If absent, Provec generates a name.' },
        ...shape,
        vector_type: { type: 'string', const: 'dense' },
        source_collection: NO_SOURCE,
        spec: any({ serverless: any(placed) }),
        deployment: any(placed, { description: 'Replaces `spec` since 2026-07.' }),
        schema: object({
          fields: { type: 'object', minProperties: 1, maxProperties: 1, additionalProperties: field },
        }),
        ...changes,
      },
      someOf('dimension', 'schema'),
    ),
    'pinecone/configure': any(changes, someOf('deletion_protection', 'tags')),
  };
}

/** Returns the schema of a vector in an upsert, which is a record. */
export function vectorSchema(limits: Limits): OpenApiSchema {
  const { properties, required } = recordSchema(limits);
  return { type: 'object', properties: { ...properties, sparseValues: NO_SPARSE }, required };
}

/** Returns the query parameters of a route by name. */
export function queryParametersOf(path: string, limits: Limits): OpenApiParameters {
  const listed = fieldsOf(limits, 'list');
  const pageMax = path.endsWith('/namespaces') ? limits.namespacesPageMax : limits.listPageMax;
  return {
    ids: {
      required: true,
      schema: fieldsOf(limits, 'fetch').ids,
      description: 'Repeat the parameter for each vector.',
    },
    prefix: { schema: { type: 'string' }, description: 'Only ids or names with this prefix.' },
    limit: { schema: { ...listed.limit, maximum: pageMax }, description: 'Maximum number of items on the page.' },
    paginationToken: { schema: paginationToken },
    namespace: { schema: namespace },
  };
}

/** Returns true if a body may be absent, because it has no required member. */
export const isOptional = ({ required, anyOf, oneOf }: OpenApiSchema): boolean => !required && !anyOf && !oneOf;
