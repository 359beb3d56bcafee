import type { Example } from './example.ts';

const READER = {
  id: 'd3fb2a55-6de0-4d02-97f0-2be169cfed16',
  name: 'reader',
  key_prefix: 'pv_live_sxQW',
  scopes: ['read'],
  created_at: '2026-11-26T12:35:22.610Z',
  expires_at: '2099-01-01T00:00:00.000Z',
  last_used_at: null,
  revoked: false,
};

/** Examples of the account's operations. */
export const ACCOUNTS: readonly Example[] = [
  {
    operation: 'getUsage',
    summary: 'Without limits',
    answer: {
      month: '2026-11',
      plan: 'enterprise',
      usage: { write_count: 12, query_count: 8, vector_count: 5, collection_count: 2, key_count: 1 },
      limits: { write_count: null, query_count: null, vector_count: null, collection_count: null, key_count: 10_000 },
      query_count_uncertainty: 0,
      resets_at: '2026-12-01T00:00:00.000Z',
      pricing_url: 'https://provec.dev/pricing',
    },
  },
  {
    operation: 'getDailyUsage',
    summary: 'Today',
    query: { days: 1 },
    answer: { days: [{ day: '2026-11-26', write_count: 12, query_count: 8 }] },
  },
  {
    operation: 'createKey',
    summary: 'A key that only reads',
    body: { name: 'reader', scopes: ['read'], expires_at: '2099-01-01T00:00:00Z' },
    answer: { key: { ...READER, secret: 'pv_live_sxQW1rrlfke9lMYsN4TKw4B5jtx5Ay0v93TZccL_wkU' } },
  },
  {
    operation: 'listKeys',
    summary: 'Two keys',
    answer: {
      keys: [
        READER,
        {
          id: 'fed191b5-2672-4fe1-a2f0-7b4c6790cf10',
          name: 'first key',
          key_prefix: 'pv_live_k3Xb',
          scopes: ['read', 'write', 'manage'],
          created_at: '2026-11-26T12:35:19.649Z',
          expires_at: null,
          last_used_at: '2026-11-26T12:35:19.727Z',
          revoked: false,
        },
      ],
    },
  },
  {
    operation: 'revokeKey',
    summary: 'Permanently',
    path: { id: 'd3fb2a55-6de0-4d02-97f0-2be169cfed16' },
    answer: { revoked: true },
  },
  {
    operation: 'revokeKey',
    summary: 'The last key with the scope manage',
    path: { id: 'fed191b5-2672-4fe1-a2f0-7b4c6790cf10' },
    status: 409,
    answer: {
      error: "This is the account's last key with the manage scope; create another one first, then revoke this one.",
      code: 'LAST_KEY',
      status: 409,
      requestId: '89a2f16a-239c-48c8-a4a8-08f05d54f0a1',
    },
  },
];
