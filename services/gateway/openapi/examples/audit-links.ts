import type { Example } from './example.ts';

const LINK = {
  id: '0b7cf2a1-6a51-4f6f-9d2b-9b1f5c1f8a34',
  label: 'For our auditors',
  createdAt: '2026-11-26T12:35:21.510Z',
  expiresAt: '2099-01-01T00:00:00.000Z',
};
const TOKEN = 'pv_audit_2mWc0Yx1bq8hZl6VdK3sJ9pT4rN7uE5aGfQiHoLwXyA';
const ROOT = '5d198201a63270b1ec677b6a9d32be59bb44fb92e43418d7b39a6a4d2eb5240b';
const TRANSACTION = '46uoNp2KGgqFHXXzsE8nvTKCi6wBGrZagqZJ8wwkqwwe2CEvDV2yuQDr6audxq3dYhLy47qqYdUiYFBVBGor7GLW';

/** Creates an audit link, reads it and revokes it. */
export const AUDIT_LINKS: readonly Example[] = [
  {
    operation: 'createAuditLink',
    summary: 'For a year',
    path: { name: 'notes' },
    body: { label: 'For our auditors', expiresAt: '2099-01-01T00:00:00Z' },
    answer: { link: { ...LINK, token: TOKEN } },
  },
  {
    operation: 'listAuditLinks',
    summary: 'One link',
    path: { name: 'notes' },
    answer: { links: [LINK] },
  },
  {
    operation: 'getAudit',
    summary: 'With the newest anchor',
    path: { token: TOKEN },
    query: { limit: 1 },
    answer: {
      collectionId: 'd39856fb-0174-4f34-87a6-10153e67bb49',
      label: 'For our auditors',
      expiresAt: '2099-01-01T00:00:00.000Z',
      merkleRoot: ROOT,
      version: 4,
      vectorCount: 6,
      anchor: {
        status: 'confirmed',
        version: 4,
        merkleRoot: ROOT,
        ledgerTx: TRANSACTION,
        ledgerAddress: 'BFEatTahEk5Qukm3cqJsuQDtTsB1tAMpwDvrdjM45jsc',
        ledgerExplorerUrl: null,
        confirmedAt: '2026-11-26T12:35:20.279Z',
      },
      ledger: {
        program: 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
        authority: 'FZr7pKXAwDcYdtYEnKzE6B2bQm9yJw4V8sTgHu3nLxRk',
        cluster: 'custom',
      },
      history: {
        anchors: [
          {
            position: 4,
            version: 4,
            merkleRoot: ROOT,
            vectorCount: 6,
            decisions: 0,
            ledgerTx: TRANSACTION,
            ledgerExplorerUrl: null,
            confirmedAt: '2026-11-26T12:35:20.279Z',
            sealed: true,
          },
        ],
        dropped: 0,
        nextCursor: 'YmVmb3JlIDQ',
      },
    },
  },
  {
    operation: 'revokeAuditLink',
    summary: 'At once',
    path: { name: 'notes', id: LINK.id },
    answer: { revoked: true },
  },
  {
    operation: 'getAudit',
    summary: 'A revoked link',
    path: { token: TOKEN },
    status: 404,
    answer: {
      error: 'There is no such audit link.',
      code: 'AUDIT_LINK_NOT_FOUND',
      status: 404,
      requestId: '0d9b4a1e-54f2-4b0d-bb07-1a0a7d0a3c55',
    },
  },
];
