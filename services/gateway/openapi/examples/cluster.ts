import type { Example } from './example.ts';

const COLLECTION_ID = 'c4dd8dea-1d5e-4c2e-b3d6-5a5c4b9f9c11';
const SHARD = `${COLLECTION_ID}.0`;
const ACCOUNT_ID = 'b4a1c5d2-7f0e-4c36-9d58-2e6f81a0c937';

const BACKUP = {
  name: '2026-11-28',
  folder: '/mnt/backups/2026-11-28',
  state: 'done',
  bytes: 48_230_400,
  at: '2026-11-28T03:00:04.117Z',
  error: null,
};

/** Examples of the operator's operations on nodes, shards, collections and the ledger. */
export const CLUSTER: readonly Example[] = [
  {
    operation: 'listNodes',
    summary: 'A single process',
    varies: ['node', 'open', 'bytes', 'memoryLimitBytes', 'workers', 'uptimeSeconds', 'lease'],
    answer: {
      shardNodes: [
        {
          node: 'host-4711',
          lease: true,
          draining: false,
          open: 2,
          opening: 0,
          copies: 0,
          bytes: 33_280,
          memoryLimitBytes: 8_589_934_592,
          queued: 0,
          load: null,
          workers: 1,
          version: '0.1.0',
          uptimeSeconds: 61,
          error: null,
        },
      ],
      others: [],
      omitted: 0,
    },
  },
  {
    operation: 'listShards',
    summary: 'The shard of one collection',
    query: { collection: 'notes', limit: 1 },
    varies: ['shard', 'collection', 'node', 'bytes', 'state', 'epoch'],
    answer: {
      shards: [
        {
          shard: SHARD,
          collection: `${ACCOUNT_ID}/notes`,
          node: 'host-4711',
          epoch: 0,
          seq: 6,
          records: 3,
          bytes: 16_640,
          followers: [],
          state: 'open',
        },
      ],
      unreachable: [],
    },
  },
  {
    operation: 'listAllCollections',
    summary: 'The first one',
    query: { limit: 1 },
    varies: ['bytes', 'id', 'accountId', 'name', 'shards', 'vectors', 'anchor'],
    answer: {
      collections: [
        {
          id: COLLECTION_ID,
          accountId: ACCOUNT_ID,
          account: 'default',
          name: 'notes',
          shards: 1,
          replicas: 0,
          vectors: 3,
          bytes: 16_640,
          anchor: 'confirmed',
        },
      ],
      unreachable: [],
      nextCursor: '1',
    },
  },
  {
    operation: 'listAllAnchors',
    summary: 'Nothing is halted',
    query: { state: 'halted' },
    answer: { anchors: [] },
  },
  {
    operation: 'listAllVerifications',
    summary: 'One that ended',
    query: { limit: 1 },
    varies: ['id', 'collectionId', 'collection', 'startedAt', 'endedAt'],
    answer: {
      verifications: [
        {
          id: '0f6d3c52ab9e4471-6a1e2f0c-3b8d-4d57-9f61-2c7e5a908b14',
          state: 'done',
          progress: { scanned: 6, total: 6 },
          collectionId: COLLECTION_ID,
          collection: `${ACCOUNT_ID}/notes`,
          startedAt: '2026-11-26T12:35:21.870Z',
          endedAt: '2026-11-26T12:35:21.912Z',
          verdict: 'match',
          error: null,
        },
      ],
      unreachable: [],
    },
  },
  {
    operation: 'getLedger',
    summary: 'The embedded ledger',
    varies: ['rpc', 'authority', 'lamports'],
    answer: {
      enabled: true,
      isEmbedded: true,
      cluster: 'custom',
      program: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
      authority: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
      lamports: 99_999_990_000_000,
      rpc: [],
    },
  },
  {
    operation: 'startBackup',
    summary: 'Named by its day',
    isElsewhere: true,
    body: { name: '2026-11-28' },
    answer: { backup: { ...BACKUP, state: 'running', bytes: 0, at: null } },
  },
  {
    operation: 'listBackups',
    summary: 'A complete one',
    isElsewhere: true,
    answer: { backups: [BACKUP] },
  },
  {
    operation: 'moveShard',
    summary: 'To another node',
    isElsewhere: true,
    path: { shard: SHARD },
    body: { node: 'shards-2' },
    answer: { shard: SHARD, node: 'shards-2', previousNode: 'shards-1' },
  },
  {
    operation: 'drainNode',
    summary: 'Before it is removed',
    isElsewhere: true,
    path: { node: 'shards-1' },
    answer: { node: 'shards-1', left: 0 },
  },
  {
    operation: 'resumeAnchoring',
    summary: 'A collection that was halted',
    isElsewhere: true,
    path: { collection: COLLECTION_ID },
    answer: { collectionId: COLLECTION_ID },
  },
];
