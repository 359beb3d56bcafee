import type { Example } from './example.ts';

const live = { alias: 'live' };

/** Examples of one alias, from its creation to its deletion. */
export const ALIASES: readonly Example[] = [
  {
    operation: 'putAlias',
    summary: 'A new alias',
    path: live,
    body: { collection: 'notes' },
    status: 201,
    answer: { alias: 'live', collection: 'notes' },
  },
  {
    operation: 'putAlias',
    summary: 'Switched to another collection',
    path: live,
    body: { collection: 'places' },
    status: 200,
    answer: { alias: 'live', collection: 'places' },
  },
  { operation: 'getAlias', summary: 'Where it points', path: live, answer: { alias: 'live', collection: 'places' } },
  { operation: 'listAliases', summary: 'All aliases', answer: { aliases: [{ alias: 'live', collection: 'places' }] } },
  {
    operation: 'deleteCollection',
    summary: 'While an alias points to it',
    path: { name: 'places' },
    status: 409,
    answer: {
      error: 'The alias live points to places; delete or switch the alias first.',
      code: 'COLLECTION_HAS_ALIAS',
      status: 409,
      requestId: '0d6c7a52-4f0e-4a5c-9d0b-5f6f0f4f6f11',
    },
  },
  { operation: 'deleteAlias', summary: 'The collection stays', path: live, answer: { deleted: true } },
];
