import type { Example } from './example.ts';

/** Part of every write's answer once its root is anchored. */
const ANCHORED = {
  ledgerProgram: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  ledgerExplorerUrl: null,
  anchor: { status: 'confirmed' },
};

/** State of `notes` after its update, which dry runs leave as it is. */
const UPDATED = {
  merkleRoot: '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b',
  version: 4,
  vectorCount: 6,
  ledgerTx: '46uoNp2KGgqFHXXzsE8nvTKCi6wBGrZagqZJ8wwkqwwe2CEvDV2yuQDr6audxq3dYhLy47qqYdUiYFBVBGor7GLW',
  ...ANCHORED,
};

/** Writes the records of the examples. */
export const RECORDS_WRITTEN: readonly Example[] = [
  {
    operation: 'upsertVectors',
    summary: 'Three records',
    path: { name: 'notes' },
    body: {
      records: [
        { id: 'a', values: [0.1, 0.2, 0.3], metadata: { title: 'Ants', year: 2024, tags: ['animal', 'small'] } },
        { id: 'b', values: [0.3, 0.2, 0.1], metadata: { title: 'Bees', year: 2025, tags: ['animal'] } },
        { id: 'c', values: [-0.2, 0.1, 0], metadata: { title: 'Clay', year: 2026 } },
      ],
    },
    answer: {
      upsertedCount: 3,
      merkleRoot: '0d19b0ad50c5225a0900b14cab333d067076dc6eb2e95026f6502063e522abb7',
      version: 1,
      vectorCount: 3,
      ledgerTx: '4tQ8d8wWa4JLSXkYtJeKEHwwr8iZGeCkzMtttuFfVuBG7NGpMmUhWPpx5kVf5vTjE7cFyCRHEe4jg6NXMoQrWZzX',
      ...ANCHORED,
    },
  },
  {
    operation: 'upsertVectors',
    summary: 'Into a namespace',
    path: { name: 'notes' },
    body: { namespace: 'acme', records: [{ id: 'a', values: [1, 0, 0] }] },
    answer: {
      upsertedCount: 1,
      merkleRoot: '4ac7261f0fd854fe6f469ec2589ade3ee076ac2496012ee70a26e01ca8529680',
      version: 2,
      vectorCount: 4,
      ledgerTx: 'Tn8pgsVzQdPkUhWzaAKRu9nkfsXfkgUyRBZZtBbGS4Arc4LsZX3AcsX1P9FHzYjpsNznwYBCjaRba5xeYixLkpK',
      ...ANCHORED,
    },
  },
  {
    operation: 'upsertVectors',
    summary: 'Points on a plane',
    path: { name: 'places' },
    body: {
      records: [
        { id: 'home', values: [0, 0] },
        { id: 'work', values: [3, 4] },
      ],
    },
    answer: {
      upsertedCount: 2,
      merkleRoot: '8e4605c9acd8dc9f6d9aac9f5896eefefa6655c709464c489aacdaf549e5d444',
      version: 1,
      vectorCount: 2,
      ledgerTx: '2zCHHEE5XhQjMubDN87e9AtuzAyD2vRg8dmxRAMfhTtkjuVspKFobnHn3t9v2Siv4advo5QSfrMpU25voViZCBdV',
      ...ANCHORED,
    },
  },
  {
    operation: 'upsertVectors',
    summary: 'Vectors of any length',
    path: { name: 'songs' },
    body: {
      records: [
        { id: 'calm', values: [0.5, 0] },
        { id: 'loud', values: [2, 2] },
      ],
    },
    answer: {
      upsertedCount: 2,
      merkleRoot: 'cea0cdb3a2061d8b2dbe8240fa4d5887628e29f8ac0433c99c5126c09f9040f3',
      version: 1,
      vectorCount: 2,
      ledgerTx: 'ayJdNEfHfZJiBRPH7nvdccD52A4aCffAzEwDxQp99Zis5j6sBa1yXsHMv5qPFcZYwYx7zi13xSgqi5CCE937dvm',
      ...ANCHORED,
    },
  },
  {
    operation: 'importRecords',
    summary: 'Two records, one of them in a namespace',
    path: { name: 'notes' },
    body: [
      { id: 'd', values: [0, 1, 0], metadata: { title: 'Dust', year: 2023 } },
      { id: 'b', values: [0, 0.5, 0.5], namespace: 'acme', metadata: { title: 'Boxes' } },
    ],
    answer: {
      importedCount: 2,
      merkleRoot: 'd4e082af7a7d5649d68ace3214cfb550d521ac923b3a96be90a5d4b4f05054ba',
      version: 3,
      vectorCount: 6,
      ledgerTx: 'EpF3SBqUfXUcf54DGyRrktk8xUTmGubkUsNTX4DP855psV8yHUpU1p7jWwYNSD1YhEjvLWLXZhPiA3RrM88vJ5i',
      ...ANCHORED,
    },
  },
  {
    operation: 'updateRecords',
    summary: 'By id',
    path: { name: 'notes' },
    body: {
      updates: [
        { id: 'a', setMetadata: { year: 2027, checked: true } },
        { id: 'c', values: [-0.2, 0.1, 0.1], unsetMetadata: ['year'] },
        { id: 'z', setMetadata: { year: 2027 } },
      ],
    },
    answer: {
      matchedCount: 2,
      updatedCount: 2,
      ...UPDATED,
    },
  },
  {
    operation: 'updateRecords',
    summary: 'By filter, as a dry run',
    path: { name: 'notes' },
    body: { filter: { tags: 'animal' }, setMetadata: { kind: 'insect' }, unsetMetadata: ['tags'], dryRun: true },
    answer: {
      matchedCount: 2,
      updatedCount: 0,
      ...UPDATED,
    },
  },
];

/** Deletes some of the records. */
export const RECORDS_DELETED: readonly Example[] = [
  {
    operation: 'deleteVectors',
    summary: 'By filter, as a dry run',
    path: { name: 'notes' },
    body: { filter: { year: { $lt: 2026 } }, dryRun: true },
    answer: {
      deleted: false,
      deletedCount: 2,
      ...UPDATED,
    },
  },
  {
    operation: 'deleteVectors',
    summary: 'By id',
    path: { name: 'notes' },
    body: { ids: ['d', 'z'] },
    answer: {
      deleted: true,
      deletedCount: 1,
      merkleRoot: '5f4de81ac51d2351e436d85432f6dbd264935a7dacccf915c97a6b565d5ec73c',
      version: 5,
      vectorCount: 5,
      ledgerTx: '2Be8x9NS1Bb7HRFUxcqB2UDi4m1v5u5QBXSLwfhWoFPnXtdHgW5qwuzVkHj6u6QoXRH9iPXjFsj2ay3UXbxKQZqH',
      ...ANCHORED,
    },
  },
  {
    operation: 'deleteVectors',
    summary: 'All records of the default namespace',
    path: { name: 'songs' },
    body: { all: true },
    answer: {
      deleted: true,
      deletedCount: 2,
      merkleRoot: '0000000000000000000000000000000000000000000000000000000000000000',
      version: 2,
      vectorCount: 0,
      ledgerTx: 'EuGfQrteF8tHsKHhHm7YHXiLeSccuAkgZBicXJZPbec5GxxB4sGjLyw94KyqrbHyB6pamE7qYKnURjwc2qLs3qg',
      ...ANCHORED,
    },
  },
  {
    operation: 'deleteNamespace',
    summary: 'All records of a tenant',
    path: { name: 'notes', namespace: 'acme' },
    answer: {
      deleted: true,
      deletedCount: 2,
      merkleRoot: '0d9374b1ed6306afcfe6477f9fcbfd88f353bf1eeea47db82173c09b876e4473',
      version: 6,
      vectorCount: 3,
      ledgerTx: '2G65xE89gXSVvc1p38LBe7S1xxkEnEwdT8fYyDYP9X5s6nLs33SuTJWVWkumLzKf5obwkt4mfd194sn1c1yJHLL1',
      ...ANCHORED,
    },
  },
];
