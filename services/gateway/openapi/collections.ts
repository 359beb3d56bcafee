import type { Limits } from '../../../lib/limits.ts';
import { collectionFields, collectionName } from '../../../lib/requests/collection-requests.ts';
import type { RouteText } from './operation.ts';
import {
  integer,
  list,
  MERKLE_ROOT,
  nullable,
  object,
  pageParameters,
  ref,
  type Schema,
  type Schemas,
  schemasOf,
  text,
  time,
} from './schema.ts';

const TAG = 'Collections';
function collectionProperties(limits: Limits): Schemas {
  const { name, dimensions, metric, ...options } = schemasOf(collectionFields(limits));
  return {
    id: text('UUID.', { format: 'uuid' }),
    name,
    dimensions,
    metric,
    vector_count: integer('Number of stored vectors.', { minimum: 0 }),
    created_at: time('ISO 8601 UTC.'),
    ...options,
  };
}

export function collectionSchemas(limits: Limits): Schemas {
  const properties = collectionProperties(limits);
  const anchor: Schema = object({
    status: text(
      '`none` on plans without anchoring, and before the first write. `halted`: what is stored or on the ledger contradicts what was recorded (see verify); nothing is anchored until the operator decides.',
      { enum: ['confirmed', 'pending', 'none', 'halted'] },
    ),
    version: nullable(integer('Version of the newest confirmed root.')),
    merkleRoot: nullable(MERKLE_ROOT),
    ledgerTx: nullable(text('Transaction that anchored it.')),
    ledgerAddress: nullable(text("The collection's account on the ledger.")),
    ledgerExplorerUrl: nullable(text('That account in an explorer.')),
    confirmedAt: nullable(time('ISO 8601 UTC.')),
  });
  return {
    CollectionName: collectionName(limits).schema,
    Collection: object(properties),
    CollectionDetail: object({
      ...properties,
      merkleRoot: MERKLE_ROOT,
      version: integer('Counts the writes behind the root, in groups as they were committed; only grows.'),
      anchor,
    }),
  };
}

export const collectionTexts = (limits: Limits): readonly RouteText[] => [
  {
    route: 'POST /collections',
    id: 'createCollection',
    summary: 'Create a collection',
    tag: TAG,
    response: object({ collection: ref('Collection') }),
    errors: ['COLLECTION_EXISTS', 'PLAN_LIMIT_REACHED'],
  },
  {
    route: 'GET /collections',
    id: 'listCollections',
    summary: 'List collections, newest first',
    description: 'All of them, or a page where `limit` is given.',
    tag: TAG,
    parameters: pageParameters({ maximum: limits.collectionsPageMax }),
    response: object({ collections: list(ref('Collection')), nextCursor: text('While there are more.') }, [
      'nextCursor',
    ]),
    errors: [],
  },
  {
    route: 'GET /collections/{name}',
    id: 'getCollection',
    summary: 'A collection with its root and its newest anchor',
    tag: TAG,
    response: object({ collection: ref('CollectionDetail') }),
    errors: [],
  },
  {
    route: 'PATCH /collections/{name}',
    id: 'updateCollection',
    summary: 'Turn deletion protection on or off',
    tag: TAG,
    response: object({ collection: ref('CollectionDetail') }),
    errors: [],
  },
  {
    route: 'DELETE /collections/{name}',
    id: 'deleteCollection',
    summary: 'Delete a collection with everything in it',
    description: 'The name is free at once; a new collection of that name starts empty and has another id.',
    tag: TAG,
    response: object({ deleted: { type: 'boolean', const: true } }),
    errors: [],
  },
];
