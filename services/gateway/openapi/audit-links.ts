import { ANCHOR_HISTORY } from './anchors.ts';
import { NEWEST_ANCHOR } from './collections.ts';
import type { Descriptions } from './operation.ts';
import {
  countSchema,
  integerSchema,
  listSchema,
  nullableSchema,
  type OpenApiSchemas,
  object,
  ref,
  TRUE,
  textSchema,
  time,
} from './schema.ts';

const label = nullableSchema(textSchema('Shown to everyone who has the link.'));
const expiresAt = nullableSchema(time('ISO 8601 UTC. Null: never.'));
const LINK: OpenApiSchemas = { id: textSchema('UUID.', { format: 'uuid' }), label, createdAt: time(), expiresAt };

export const AUDIT_LINK_SCHEMAS: OpenApiSchemas = {
  AuditLink: object(LINK),
  NewAuditLink: object({
    ...LINK,
    token: textSchema('The secret of the link, for `GET /audit-links/{token}`. Shown only this once.'),
  }),
  AuditView: object({
    collectionId: textSchema('UUID. The address on the ledger follows from it and the authority.', { format: 'uuid' }),
    label,
    expiresAt,
    merkleRoot: textSchema('Root over all records: 64 hex digits.', { pattern: '^[0-9a-f]{64}$' }),
    version: integerSchema('Version of the root.'),
    vectorCount: countSchema('Stored records.'),
    anchor: NEWEST_ANCHOR,
    ledger: object({
      program: textSchema('Address of the program on the ledger.'),
      authority: nullableSchema(textSchema('Address that signs the anchors. Null while the ledger is off.')),
      cluster: textSchema('Name of the ledger.'),
    }),
    history: ANCHOR_HISTORY,
  }),
};

export const AUDIT_LINK_DESCRIPTIONS: Descriptions = {
  'collections.createAuditLink': [
    'createAuditLink',
    'Create a link that shows the roots of a collection to anyone',
    object({ link: ref('NewAuditLink') }),
    'It shows roots, anchors and counts, and no records, names or keys. The link belongs to the collection: it stays valid if an alias is switched, and ends when the collection is deleted.',
  ],
  'collections.auditLinks': [
    'listAuditLinks',
    'List the audit links of a collection, newest first, without their tokens',
    object({ links: listSchema(ref('AuditLink')) }),
  ],
  'collections.revokeAuditLink': ['revokeAuditLink', 'Revoke an audit link', object({ revoked: TRUE })],
  'collections.auditView': [
    'getAudit',
    'Show what an audit link shows: roots, anchors and counts',
    ref('AuditView'),
    "`limit` and `cursor` select a page of `history`. The requests count for the account of the link; each address may send 20 in a second, and all addresses together 50 with one link. A token that is unknown, revoked or expired, and one of a deleted collection, get the same 404. The log doesn't contain tokens. The response forbids to send its address to other sites (`Referrer-Policy: no-referrer`) and to index it.",
  ],
};
