import type { Limits } from '../../../lib/limits.ts';
import type { RouteText } from './operation.ts';
import {
  flag,
  integer,
  list,
  MERKLE_ROOT,
  nullable,
  object,
  pageParameters,
  ref,
  type Schema,
  type Schemas,
  text,
  time,
} from './schema.ts';

const TAG = 'Verification';
const PROOF = object({ proof: ref('RecordProof') });
const hex = (description: string): Schema => text(description, { pattern: '^[0-9a-f]{64}$' });

export function verificationSchemas(): Schemas {
  return {
    VerifyResult: object(
      {
        verified: flag('True only for the state `match`.'),
        onChainRoot: nullable(MERKLE_ROOT),
        computedRoot: MERKLE_ROOT,
        match: flag('Whether the two roots are equal.'),
        vectorCount: integer('Vectors in the collection.'),
        ledgerExplorerUrl: nullable(text("The collection's ledger address in an explorer.")),
        state: text('`unreachable`: the ledger is down; `not_anchored`: the plan has no anchoring.', {
          enum: ['match', 'mismatch', 'pending', 'unreachable', 'not_anchored'],
        }),
        version: integer('Version of the computed root.'),
        anchoredVersion: nullable(integer('Version on the ledger.')),
        ledgerAddress: nullable(text("The collection's account on the ledger.")),
        checkedAt: time('ISO 8601 UTC.'),
        reason: text('A sentence when the state is not match.'),
        differences: list(object({ id: ref('RecordId'), what: text('What differs.') }), {
          description: 'Records that differ.',
        }),
      },
      ['reason', 'differences'],
    ),
    RecordProof: {
      ...object({
        format: { type: 'string', const: 'PV1' },
        id: ref('RecordId'),
        present: flag('Proof of presence, or of absence.'),
        merkleRoot: MERKLE_ROOT,
        version: integer('Version of that root.'),
        siblings: list(hex('Hash of a subtree beside the path; of an empty one, 64 zeros.'), {
          description: "From the collection's root down.",
        }),
        terminal: {
          oneOf: [
            object({ key: hex('keyHash.'), vecHash: hex('vecHash.'), metaHash: hex('metaHash.') }),
            { type: 'null' },
          ],
        },
        collectionId: text('UUID.', { format: 'uuid' }),
        ledgerAddress: nullable(text("The collection's account on the ledger.")),
      }),
      description: 'Checked offline, without this service, by the verifier in `client/`.',
    },
    Anchor: object({
      version: integer('Version of the root.'),
      merkleRoot: MERKLE_ROOT,
      vectorCount: integer('Vectors under that root.'),
      ledgerTx: text('Transaction.'),
      ledgerExplorerUrl: text('That transaction in an explorer.'),
      confirmedAt: time('ISO 8601 UTC.'),
    }),
  };
}

const idParameter = (required: boolean): Schema => ({
  name: 'id',
  in: 'query',
  required,
  description: required ? 'Record to prove.' : 'Answer with a proof for this record, like `/proof`.',
  schema: ref('RecordId'),
});

export function verificationTexts(limits: Limits): readonly RouteText[] {
  return [
    {
      route: 'GET /collections/{name}/verify',
      id: 'verifyCollection',
      summary: 'Compare the stored bytes with the root on the ledger',
      description:
        'Recomputes the root from what is stored. With `id` it answers with a proof for that record instead.',
      tag: TAG,
      parameters: [idParameter(false)],
      response: { oneOf: [ref('VerifyResult'), PROOF] },
      errors: ['SHARD_UNAVAILABLE'],
    },
    {
      route: 'GET /collections/{name}/proof',
      id: 'proveRecord',
      summary: 'Proof that a record is, or is not, in the collection',
      tag: TAG,
      parameters: [idParameter(true)],
      response: PROOF,
      errors: ['SHARD_UNAVAILABLE'],
    },
    {
      route: 'GET /collections/{name}/anchors',
      id: 'listAnchors',
      summary: 'Every root that was confirmed, newest first',
      tag: TAG,
      parameters: pageParameters({ maximum: limits.anchorsPageMax, default: limits.anchorsPageDefault }),
      response: object({ anchors: list(ref('Anchor')), nextCursor: nullable(text('Null on the last page.')) }),
      errors: [],
    },
  ];
}
