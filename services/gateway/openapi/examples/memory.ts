import type { Example } from './example.ts';

/** What the shard of a small collection takes. */
export const MEMORY: readonly Example[] = [
  {
    operation: 'getMemory',
    summary: 'One open shard',
    path: { name: 'notes' },
    answer: {
      bytes: 80_396,
      shards: [
        {
          shard: 0,
          state: 'open',
          bytes: 80_396,
          parts: { vectors: 3_072, records: 65_536, index: 0, filters: 4_608, merkleMap: 4_620, slots: 2_560 },
          records: 6,
          unindexed: 0,
          logBytes: 1_212,
          checkpointBytes: 0,
        },
      ],
    },
    varies: ['bytes', 'vectors', 'records', 'index', 'filters', 'merkleMap', 'slots', 'logBytes', 'checkpointBytes'],
  },
];
