import type { Example } from './example.ts';

/** Reads and searches the records. */
export const RECORDS_FOUND: readonly Example[] = [
  {
    operation: 'fetchVectors',
    summary: 'Two ids, one of them unknown',
    path: { name: 'notes' },
    body: { ids: ['c', 'z'] },
    answer: { vectors: { c: { id: 'c', values: [-0.2, 0.1, 0.1], metadata: { title: 'Clay' } } } },
  },
  {
    operation: 'listRecords',
    summary: 'The first page',
    path: { name: 'notes' },
    body: { limit: 2, includeMetadata: true },
    answer: {
      records: [
        { id: 'a', metadata: { checked: true, tags: ['animal', 'small'], title: 'Ants', year: 2027 } },
        { id: 'b', metadata: { tags: ['animal'], title: 'Bees', year: 2025 } },
      ],
      nextCursor: 'YWZ0ZXIgYg',
    },
  },
  {
    operation: 'listRecords',
    summary: 'The next page',
    path: { name: 'notes' },
    body: { limit: 2, cursor: 'YWZ0ZXIgYg' },
    answer: { records: [{ id: 'c' }, { id: 'd' }] },
  },
  {
    operation: 'countRecords',
    summary: 'Records without a field',
    path: { name: 'notes' },
    body: { filter: { year: { $exists: false } } },
    answer: { count: 1 },
  },
  {
    operation: 'facetRecords',
    summary: 'Tags',
    path: { name: 'notes' },
    body: { field: 'tags' },
    answer: {
      values: [
        { value: 'animal', count: 2 },
        { value: 'small', count: 1 },
      ],
      missing: 2,
    },
  },
  {
    operation: 'queryVectors',
    summary: 'Near a vector, with a filter',
    path: { name: 'notes' },
    body: { vector: [0.1, 0.2, 0.3], topK: 2, filter: { tags: { $in: ['animal', 'plant'] } } },
    answer: {
      matches: [
        { id: 'a', score: 1, metadata: { checked: true, tags: ['animal', 'small'], title: 'Ants', year: 2027 } },
        { id: 'b', score: 0.7142857021215013, metadata: { tags: ['animal'], title: 'Bees', year: 2025 } },
      ],
    },
  },
  {
    operation: 'queryVectors',
    summary: 'Near a record',
    path: { name: 'notes' },
    body: { id: 'a', topK: 2, includeMetadata: false, includeValues: true },
    answer: {
      matches: [
        { id: 'a', score: 1, values: [0.1, 0.2, 0.3] },
        { id: 'b', score: 0.7142857021215013, values: [0.3, 0.2, 0.1] },
      ],
    },
  },
  {
    operation: 'queryVectors',
    summary: 'In a namespace',
    path: { name: 'notes' },
    body: { vector: [0, 1, 0], namespace: 'acme', topK: 1 },
    answer: { matches: [{ id: 'b', score: 0.7071067811865475, metadata: { title: 'Boxes' } }] },
  },
  {
    operation: 'queryVectors',
    summary: 'By distance',
    path: { name: 'places' },
    body: { vector: [0, 0], topK: 2, includeMetadata: false },
    answer: {
      matches: [
        { id: 'home', score: 1, distance: 0 },
        { id: 'work', score: 0.16666666666666666, distance: 5 },
      ],
    },
  },
  {
    operation: 'queryVectors',
    summary: 'By dot product',
    path: { name: 'songs' },
    body: { vector: [1, 1], topK: 2, includeMetadata: false },
    answer: {
      matches: [
        { id: 'loud', score: 4 },
        { id: 'calm', score: 0.5 },
      ],
    },
  },
  {
    operation: 'queryMany',
    summary: 'Two queries',
    path: { name: 'notes' },
    body: {
      queries: [
        { vector: [0, 1, 0], topK: 1, includeMetadata: false },
        { id: 'a', topK: 1, filter: { year: { $lt: 2025 } } },
      ],
    },
    answer: {
      results: [
        { matches: [{ id: 'd', score: 1 }] },
        { matches: [{ id: 'd', score: 0.5345224752909143, metadata: { title: 'Dust', year: 2023 } }] },
      ],
    },
  },
  {
    operation: 'listNamespaces',
    summary: 'The first page',
    path: { name: 'notes' },
    query: { limit: 1 },
    answer: { namespaces: [{ name: '', vectorCount: 4 }], nextCursor: 'YWZ0ZXIg' },
  },
  {
    operation: 'listNamespaces',
    summary: 'With a prefix',
    path: { name: 'notes' },
    query: { prefix: 'ac' },
    answer: { namespaces: [{ name: 'acme', vectorCount: 2 }] },
  },
];
