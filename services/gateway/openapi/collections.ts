import type { Limits } from '../../../lib/limits.ts';
import type { RouteText } from './operation.ts';
import {
  flag,
  integer,
  list,
  MERKLE_ROOT,
  nullable,
  object,
  pageParameters,
  ref,
  request,
  type Schema,
  type Schemas,
  text,
  time,
} from './schema.ts';

const TAG = 'Collections';
const METRIC = { type: 'string', enum: ['cosine', 'euclidean', 'dot'], default: 'cosine' };
const QUANTIZATION = {
  type: 'string',
  enum: ['bf16', 'f32', 'f16', 'i8'],
  default: 'bf16',
  description: 'Precision of the search index. Scores are always computed from the exact float32 vectors.',
};

function shardCount({ shardsMax }: Limits): Schema {
  const powers = Array.from({ length: 1 + Math.floor(Math.log2(shardsMax)) }, (_, exponent) => 2 ** exponent);
  return integer('Power of two.', { enum: powers });
}

const collectionProperties = (limits: Limits): Schemas => ({
  id: text('UUID.', { format: 'uuid' }),
  name: ref('CollectionName'),
  dimensions: integer('Length of every vector.', { minimum: 1, maximum: limits.dimensionsMax }),
  metric: METRIC,
  vector_count: integer('Number of stored vectors.', { minimum: 0 }),
  created_at: time('ISO 8601 UTC.'),
  shards: shardCount(limits),
  replicas: integer('Followers per shard.', { minimum: 0, maximum: limits.replicasMax }),
  quantization: QUANTIZATION,
  deletionProtection: flag('The collection cannot be deleted.'),
});

export function collectionSchemas(limits: Limits): Schemas {
  const properties = collectionProperties(limits);
  const anchor: Schema = object({
    status: ref('AnchorStatus'),
    version: nullable(integer('Version of the newest confirmed root.')),
    merkleRoot: nullable(MERKLE_ROOT),
    ledgerTx: nullable(text('Transaction that anchored it.')),
    ledgerAddress: nullable(text("The collection's account on the ledger.")),
    ledgerExplorerUrl: nullable(text('That account in an explorer.')),
    confirmedAt: nullable(time('ISO 8601 UTC.')),
  });
  return {
    CollectionName: text('Unique per account.', {
      minLength: 1,
      maxLength: limits.nameMaxChars,
      pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
    }),
    Collection: object(properties),
    CollectionDetail: object({
      ...properties,
      merkleRoot: MERKLE_ROOT,
      version: integer('Counts the writes behind the root, in groups as they were committed; only grows.'),
      anchor,
    }),
    CreateCollection: request(
      {
        name: ref('CollectionName'),
        dimensions: properties.dimensions!,
        metric: METRIC,
        shards: { ...shardCount(limits), default: 1 },
        replicas: integer('Followers per shard.', { minimum: 0, maximum: limits.replicasMax, default: 0 }),
        quantization: QUANTIZATION,
        deletionProtection: flag('Refuse to delete the collection.', { default: false }),
      },
      ['metric', 'shards', 'replicas', 'quantization', 'deletionProtection'],
    ),
    UpdateCollection: request({ deletionProtection: flag('Refuse to delete the collection.') }, []),
  };
}

export const collectionTexts = (limits: Limits): readonly RouteText[] => [
  {
    route: 'POST /collections',
    id: 'createCollection',
    summary: 'Create a collection',
    tag: TAG,
    request: ref('CreateCollection'),
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
    request: ref('UpdateCollection'),
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
