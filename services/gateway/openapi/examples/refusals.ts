import type { Example } from './example.ts';

/** Requests that are refused and change nothing. */
export const REFUSED: readonly Example[] = [
  {
    operation: 'createCollection',
    summary: 'A name that is taken',
    body: { name: 'notes', dimensions: 3 },
    status: 409,
    answer: {
      error: 'A collection named notes already exists.',
      code: 'COLLECTION_EXISTS',
      status: 409,
      requestId: '4dee2400-b5b9-46b2-a654-1f3ac331478a',
    },
  },
  {
    operation: 'upsertVectors',
    summary: 'A vector of the wrong length',
    path: { name: 'notes' },
    body: { records: [{ id: 'e', values: [0.1, 0.2] }] },
    status: 400,
    answer: {
      error: 'records[0].values has 2 numbers, but the collection has 3 dimensions.',
      code: 'DIMENSION_MISMATCH',
      status: 400,
      requestId: '0acc1771-d4d9-496f-858c-399fea634230',
      details: [{ path: 'records[0].values', expected: '3 numbers', got: 'an array of 2' }],
    },
  },
  {
    operation: 'queryVectors',
    summary: 'Near a record that does not exist',
    path: { name: 'notes' },
    body: { id: 'z' },
    status: 404,
    answer: {
      error: 'There is no record with that id.',
      code: 'RECORD_NOT_FOUND',
      status: 404,
      requestId: '75de512a-0bb2-4710-9451-b8130ca42846',
    },
  },
  {
    operation: 'getCollection',
    summary: 'An unknown name',
    path: { name: 'note' },
    status: 404,
    answer: {
      error: 'There is no collection named note; did you mean notes?',
      code: 'COLLECTION_NOT_FOUND',
      status: 404,
      requestId: '2f0ed77f-4136-47b3-ac6e-65b663def869',
    },
  },
];
