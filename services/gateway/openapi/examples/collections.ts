import type { Example } from './example.ts';

const NOTES = {
  id: 'd39856fb-0174-4f34-87a6-10153e67bb49',
  name: 'notes',
  dimensions: 3,
  metric: 'cosine',
  vector_count: 0,
  created_at: '2026-11-26T12:35:19.743Z',
  shards: 1,
  replicas: 0,
  quantization: 'bf16',
  deletionProtection: false,
};
const SONGS = {
  id: '6a074a2a-4dac-4181-b396-4067bdeacef0',
  name: 'songs',
  dimensions: 2,
  metric: 'dot',
  vector_count: 0,
  created_at: '2026-11-26T12:35:19.784Z',
  shards: 1,
  replicas: 0,
  quantization: 'bf16',
  deletionProtection: false,
};
const NOTES_WRITTEN = {
  ...NOTES,
  vector_count: 3,
  merkleRoot: '0d9374b1ed6306afcfe6477f9fcbfd88f353bf1eeea47db82173c09b876e4473',
  version: 6,
  anchor: {
    status: 'confirmed',
    version: 6,
    merkleRoot: '0d9374b1ed6306afcfe6477f9fcbfd88f353bf1eeea47db82173c09b876e4473',
    ledgerTx: '2G65xE89gXSVvc1p38LBe7S1xxkEnEwdT8fYyDYP9X5s6nLs33SuTJWVWkumLzKf5obwkt4mfd194sn1c1yJHLL1',
    ledgerAddress: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
    ledgerExplorerUrl: null,
    confirmedAt: '2026-11-26T12:35:20.558Z',
  },
};

/** Creates the collections of the examples. */
export const COLLECTIONS_CREATED: readonly Example[] = [
  {
    operation: 'createCollection',
    summary: 'Compared by cosine',
    body: { name: 'notes', dimensions: 3 },
    answer: { collection: NOTES },
  },
  {
    operation: 'createCollection',
    summary: 'Compared by distance, in four shards',
    body: { name: 'places', dimensions: 2, metric: 'euclidean', shards: 4, quantization: 'f32' },
    answer: {
      collection: {
        id: '45ba284b-7e32-476b-985a-f8ff195e5473',
        name: 'places',
        dimensions: 2,
        metric: 'euclidean',
        vector_count: 0,
        created_at: '2026-11-26T12:35:19.776Z',
        shards: 4,
        replicas: 0,
        quantization: 'f32',
        deletionProtection: false,
      },
    },
  },
  {
    operation: 'createCollection',
    summary: 'Compared by dot product',
    body: { name: 'songs', dimensions: 2, metric: 'dot' },
    answer: { collection: SONGS },
  },
];

/** Reads, changes and deletes the collections. */
export const COLLECTIONS_MANAGED: readonly Example[] = [
  {
    operation: 'listCollections',
    summary: 'The newest one',
    query: { limit: 1 },
    answer: {
      collections: [SONGS],
      nextCursor: 'YWZ0ZXIgMjAyNi0xMS0yNlQxMjozNToxOS43ODRaIDZhMDc0YTJhLTRkYWMtNDE4MS1iMzk2LTQwNjdiZGVhY2VmMA',
    },
  },
  {
    operation: 'getCollection',
    summary: 'With its root',
    path: { name: 'notes' },
    answer: { collection: NOTES_WRITTEN },
  },
  {
    operation: 'updateCollection',
    summary: 'Protected from deletion',
    path: { name: 'notes' },
    body: { deletionProtection: true },
    answer: { collection: { ...NOTES_WRITTEN, deletionProtection: true } },
  },
  {
    operation: 'deleteCollection',
    summary: 'A collection',
    path: { name: 'songs' },
    answer: { deleted: true },
  },
];
