import type { Descriptions } from './operation.ts';
import {
  countSchema,
  listSchema,
  nullableSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
} from './schema.ts';

const ifOpen = (description: string): OpenApiSchema => nullableSchema(countSchema(description));

const PARTS = object(
  {
    vectors: countSchema('Exact float32 vectors.'),
    records: countSchema('Ids and metadata.'),
    index: countSchema('Search index; an estimate.'),
    filters: countSchema('Columns that filters use, and the order of ids.'),
    merkleMap: countSchema('Merkle map, and recent heads.'),
    slots: countSchema('Bookkeeping of slots, and what running requests keep.'),
  },
  [],
  { description: 'Memory by part, in bytes; the sum is `bytes`. Absent unless the shard is open.' },
);

export const MEMORY_SCHEMAS: OpenApiSchemas = {
  ShardMemory: object(
    {
      shard: countSchema('Index of the shard.'),
      state: textSchema('`closed`: not in memory until it is next used. `unreachable`: its node does not answer.', {
        enum: ['open', 'closed', 'unreachable'],
      }),
      bytes: ifOpen('Memory that the shard takes. Null unless it is open, like `records`, `unindexed` and `logBytes`.'),
      parts: PARTS,
      records: ifOpen('Records in memory.'),
      unindexed: ifOpen('Records that the index does not cover yet; each search scans them.'),
      logBytes: ifOpen('Log after the newest checkpoint, which the next opening replays.'),
      checkpointBytes: countSchema('Checkpoints on disk.'),
    },
    ['parts'],
  ),
};

export const MEMORY_DESCRIPTIONS: Descriptions = {
  'collections.memory': [
    'getMemory',
    'Show how much memory and disk each shard of a collection takes',
    object({ bytes: countSchema('Memory of the open shards.'), shards: listSchema(ref('ShardMemory')) }),
    'Opens no shard. Copies on other nodes are not included.',
  ],
};
