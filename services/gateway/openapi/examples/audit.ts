import type { Example } from './example.ts';

const VARIES = ['node', 'address', 'hash', 'previousHash'];
const NODE = { node: 'laptop-4711', address: '127.0.0.1' };
const NO_HASH = '0'.repeat(64);
const FIRST_HASH = 'a77c2ba8fe9e14e800ef87b81c271b56cc6849cddc8e1b090548317bd41a8620';
const SECOND_HASH = 'f585ec786d7a2f3ad9e2693dc27a16d46644f08056e399916fe88867aa44bc9d';
const HEAD_HASH = 'a1613a4c05fd05e130634136b998b4dcb80b5d836ecfde3b902bd9789ce00042';

const CREATED = { id: '96d0c03b-e312-4088-8563-56e67a202f62', action: 'collection.create' };
const OWNER = 'b4a1c5d2-7f0e-4c36-9d58-2e6f81a0c937';

/** Example of an account's audit trail. */
export const AUDIT: readonly Example[] = [
  {
    operation: 'listAuditEntries',
    summary: 'Both entries of the first change',
    query: { limit: 2 },
    varies: VARIES,
    answer: {
      entries: [
        {
          seq: 1,
          ...CREATED,
          at: '2026-11-26T12:35:19.741Z',
          phase: 'begin',
          actor: { type: 'key', accountId: OWNER, keyId: 'fed191b5-2672-4fe1-a2f0-7b4c6790cf10' },
          ...NODE,
          requestId: '90c3f610-3a4f-4a71-be0f-d29af702672f',
          accountId: OWNER,
          target: 'notes',
          asked: null,
          before: null,
          previousHash: NO_HASH,
          hash: FIRST_HASH,
        },
        {
          seq: 2,
          ...CREATED,
          at: '2026-11-26T12:35:19.745Z',
          phase: 'end',
          outcome: 'done',
          code: null,
          after: {
            collectionId: 'd39856fb-0174-4f34-87a6-10153e67bb49',
            dimensions: 3,
            metric: 'cosine',
            shards: 1,
            replicas: 0,
            quantization: 'bf16',
            deletionProtection: false,
            tags: {},
          },
          previousHash: FIRST_HASH,
          hash: SECOND_HASH,
        },
      ],
      head: { seq: 30, hash: HEAD_HASH },
      nextCursor: '2',
    },
  },
];

const PLAN_CHANGED = { id: '61fd0f1d-ca11-414a-8e1c-c361b8832fdf', action: 'account.setPlan' };
const ACME = '17860112-2f4b-4a06-9ad2-759d072ff18f';

/** Example of the operator's audit trail. */
export const OPERATOR_AUDIT: readonly Example[] = [
  {
    operation: 'listAllAuditEntries',
    summary: 'Both entries of a changed plan',
    query: { cursor: '6', limit: 2 },
    varies: VARIES,
    answer: {
      entries: [
        {
          seq: 7,
          ...PLAN_CHANGED,
          at: '2026-11-26T12:35:22.690Z',
          phase: 'begin',
          actor: { type: 'operator' },
          ...NODE,
          requestId: '188a16d6-6f07-4280-b161-d8f2e7fb6cfc',
          accountId: ACME,
          target: ACME,
          asked: { plan: 'pro' },
          before: { name: 'acme', plan: 'free' },
          previousHash: '0642cac558dc0fdab8f217c3364f187b1ae88cf40caff39d5b3bc75b5dad37b6',
          hash: 'cecc5b8f91ad343c7c98f6c8099ca4b4950486fdf6a2039408e1ca1ed9a1db3f',
        },
        {
          seq: 8,
          ...PLAN_CHANGED,
          at: '2026-11-26T12:35:22.695Z',
          phase: 'end',
          outcome: 'done',
          code: null,
          after: { plan: 'pro' },
          previousHash: 'cecc5b8f91ad343c7c98f6c8099ca4b4950486fdf6a2039408e1ca1ed9a1db3f',
          hash: '806a16722d32fb951fe1740a00ae52b20a2ae4dbdf6604f7d4a0a6d10f6a3e69',
        },
      ],
      head: { seq: 10, hash: HEAD_HASH },
      nextCursor: '8',
    },
  },
];
