import { DEFAULT_PLANS, PLAN_NAMES } from '../../../../lib/plans.ts';
import type { Example } from './example.ts';

const ACME = {
  id: '17860112-2f4b-4a06-9ad2-759d072ff18f',
  name: 'acme',
  plan: 'free',
  created_at: '2026-11-26T12:35:22.637Z',
};
const FIRST = {
  id: '08ab603b-b4d8-4793-9822-d1987cb038b2',
  name: 'first key',
  key_prefix: 'pv_live_isNM',
  scopes: ['read', 'write', 'manage'],
  created_at: '2026-11-26T12:35:22.640Z',
  expires_at: null,
  last_used_at: null,
  revoked: false,
};
const REPLACEMENT = {
  ...FIRST,
  id: '5be0e1d4-3c0a-4f0e-8a6b-0d1f3e6c2a97',
  name: 'replacement',
  key_prefix: 'pv_live_9cXm',
  created_at: '2026-11-26T12:35:22.655Z',
};

/** Examples of the operator's operations on accounts. */
export const OPERATOR_ACCOUNTS: readonly Example[] = [
  {
    operation: 'createAccount',
    summary: 'On the Free plan',
    body: { name: 'acme', plan: 'free' },
    answer: {
      account: ACME,
      key: { ...FIRST, secret: 'pv_live_isNMeoxB38FFhDzLqwR23lJqIw4R2DdiHPj5HkvFIJQ' },
    },
  },
  {
    operation: 'listAccounts',
    summary: 'The first one and another',
    answer: {
      accounts: [
        {
          id: 'b4a1c5d2-7f0e-4c36-9d58-2e6f81a0c937',
          name: 'default',
          plan: 'enterprise',
          created_at: '2026-11-26T12:35:19.644Z',
        },
        ACME,
      ],
    },
  },
  {
    operation: 'getAccount',
    summary: 'An account that has done nothing',
    path: { id: ACME.id },
    answer: {
      account: {
        ...ACME,
        usage: {
          month: '2026-11',
          plan: 'free',
          usage: { write_count: 0, query_count: 0, vector_count: 0, collection_count: 0, key_count: 1 },
          limits: { write_count: 1_000, query_count: 10_000, vector_count: 5_000, collection_count: 2, key_count: 2 },
          query_count_uncertainty: 0,
          resets_at: '2026-12-01T00:00:00.000Z',
          pricing_url: 'https://provec.dev/pricing',
        },
      },
    },
  },
  {
    operation: 'listPlans',
    summary: 'The plans as they come',
    answer: { plans: PLAN_NAMES.map((name) => ({ name, ...DEFAULT_PLANS[name], source: 'built-in' })) },
  },
  {
    operation: 'createAccountKey',
    summary: 'In place of a lost key',
    path: { id: ACME.id },
    body: { name: 'replacement' },
    answer: { key: { ...REPLACEMENT, secret: 'pv_live_9cXm2Yt5wRk7sJ0uEoGvHqLz4bNfAd1iPe6TxUyBnM8' } },
  },
  {
    operation: 'revokeAccountKey',
    summary: 'The lost key',
    path: { id: ACME.id, key: FIRST.id },
    answer: { revoked: true },
  },
  {
    operation: 'listAccountKeys',
    summary: 'Only the replacement is left',
    path: { id: ACME.id },
    answer: { keys: [REPLACEMENT] },
  },
  {
    operation: 'changePlan',
    summary: 'To Pro',
    path: { id: ACME.id },
    body: { plan: 'pro' },
    answer: { account: { ...ACME, plan: 'pro' } },
  },
  {
    operation: 'deleteAccount',
    summary: 'An account',
    path: { id: ACME.id },
    answer: { deleted: true },
  },
];
