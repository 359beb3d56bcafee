import type { Example } from './example.ts';

const VERDICT = {
  verified: true,
  onChainRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
  computedRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
  match: true,
  vectorCount: 6,
  ledgerExplorerUrl: null,
  state: 'match',
  version: 4,
  anchoredVersion: 4,
  ledgerAddress: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
  checkedAt: '2026-11-26T12:35:20.409Z',
};
/** Proof of a record, whose path also shows that the record `z` is absent. */
const PROOF = {
  format: 'PV1',
  id: 'a',
  namespace: '',
  present: true,
  merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
  version: 4,
  siblings: [
    '2c56fdb7fd4bd20de78187accf085d878757a68073d3a534f704f4a2f52064ef',
    'e8da39cb1703d324e3fb987c64a8c39233cff3e2e670372fe89895a13cfcd747',
    '58519d6e234698da483e29a08c941837603f97a5bb5e293887b0a20fc7ca74e3',
  ],
  terminal: {
    key: '125929f94145b295afc5562cfb380d20c4b38b70a31aba0f0684ceee4747f18a',
    vecHash: '950141e61004d4a3fc85e107760281a41037bc4bc249f51304abc60a08b1acbe',
    metaHash: 'df8f9425b27dd333580975d363d8fcae05b133da0859e5ba8531044906a56ac4',
  },
  collectionId: 'd39856fb-0174-4f34-87a6-10153e67bb49',
  ledgerAddress: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
  ledgerTx: '46uoNp2KGgqFHXXzsE8nvTKCi6wBGrZagqZJ8wwkqwwe2CEvDV2yuQDr6audxq3dYhLy47qqYdUiYFBVBGor7GLW',
};

/** Verifies, proves and exports the records. */
export const RECORDS_PROVED: readonly Example[] = [
  {
    operation: 'verifyCollection',
    summary: 'The whole collection',
    path: { name: 'notes' },
    answer: VERDICT,
  },
  {
    operation: 'verifyCollection',
    summary: 'One record',
    path: { name: 'notes' },
    query: { id: 'a' },
    answer: { proof: PROOF },
  },
  {
    operation: 'beginVerification',
    summary: 'The whole collection',
    path: { name: 'notes' },
    answer: {
      id: '3f0b6f0a9f6c4b1e-7d1f2a64-30f5-4d6e-9c63-0f5b8f0a2a11',
      state: 'running',
      progress: { scanned: 0, total: 6 },
    },
  },
  {
    operation: 'getVerification',
    summary: 'Finished',
    path: { name: 'notes', id: '3f0b6f0a9f6c4b1e-7d1f2a64-30f5-4d6e-9c63-0f5b8f0a2a11' },
    answer: {
      id: '3f0b6f0a9f6c4b1e-7d1f2a64-30f5-4d6e-9c63-0f5b8f0a2a11',
      state: 'done',
      progress: { scanned: 6, total: 6 },
      result: { ...VERDICT, checkedAt: '2026-11-26T12:35:21.409Z' },
    },
  },
  {
    operation: 'proveRecord',
    summary: 'A record that exists',
    path: { name: 'notes' },
    query: { id: 'a', namespace: 'acme' },
    answer: {
      proof: {
        format: 'PV1',
        id: 'a',
        namespace: 'acme',
        present: true,
        merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
        version: 4,
        siblings: [
          '2c56fdb7fd4bd20de78187accf085d878757a68073d3a534f704f4a2f52064ef',
          '40f3ac93ae51e01cc4843eb1edb01a339663d31ed38d90727ec03df979671a86',
          '0000000000000000000000000000000000000000000000000000000000000000',
          'e07dff7490d9216d81df3bd19034752ba69d73960e66340124539e95addc02ba',
        ],
        terminal: {
          key: '7b1df735ce1b3037aa5c7e6674cfbe4dd047ecd81284a676586a23cc8e48a7d4',
          vecHash: '711d26d0c81133a0b481c2dc8f3bf96176c4081d43e5cf8226c21c2a05744609',
          metaHash: '131c993ddf7abfb612d9c201f0410f6416a0cbd647c3cc13bc66ebafe50e9a93',
        },
        collectionId: 'd39856fb-0174-4f34-87a6-10153e67bb49',
        ledgerAddress: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
        ledgerTx: '46uoNp2KGgqFHXXzsE8nvTKCi6wBGrZagqZJ8wwkqwwe2CEvDV2yuQDr6audxq3dYhLy47qqYdUiYFBVBGor7GLW',
      },
    },
  },
  {
    operation: 'proveRecord',
    summary: 'A record that does not exist',
    path: { name: 'notes' },
    query: { id: 'z' },
    answer: { proof: { ...PROOF, id: 'z', present: false } },
  },
  {
    operation: 'exportRecords',
    summary: 'Both namespaces',
    path: { name: 'notes' },
    answer: [
      {
        export: {
          collectionId: 'd39856fb-0174-4f34-87a6-10153e67bb49',
          name: 'notes',
          dimensions: 3,
          metric: 'cosine',
          version: 4,
          merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
          vectorCount: 6,
        },
      },
      { id: 'b', values: [0.3, 0.2, 0.1], metadata: { tags: ['animal'], title: 'Bees', year: 2025 } },
      { id: 'a', values: [1, 0, 0], namespace: 'acme' },
      { id: 'd', values: [0, 1, 0], metadata: { title: 'Dust', year: 2023 } },
      { id: 'b', values: [0, 0.5, 0.5], metadata: { title: 'Boxes' }, namespace: 'acme' },
      {
        id: 'a',
        values: [0.1, 0.2, 0.3],
        metadata: { checked: true, tags: ['animal', 'small'], title: 'Ants', year: 2027 },
      },
      { id: 'c', values: [-0.2, 0.1, 0.1], metadata: { title: 'Clay' } },
      { end: { count: 6, merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b' } },
    ],
  },
  {
    operation: 'listAnchors',
    summary: 'The newest one',
    path: { name: 'notes' },
    query: { limit: 1 },
    answer: {
      anchors: [
        {
          position: 4,
          version: 4,
          merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
          vectorCount: 6,
          decisions: 0,
          ledgerTx: '46uoNp2KGgqFHXXzsE8nvTKCi6wBGrZagqZJ8wwkqwwe2CEvDV2yuQDr6audxq3dYhLy47qqYdUiYFBVBGor7GLW',
          ledgerExplorerUrl: null,
          confirmedAt: '2026-11-26T12:35:20.279Z',
          sealed: true,
        },
      ],
      dropped: 0,
      nextCursor: 'YmVmb3JlIDQ',
    },
  },
];
