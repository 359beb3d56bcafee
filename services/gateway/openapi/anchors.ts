import type { Descriptions } from './operation.ts';
import {
  countSchema,
  flagSchema,
  integerSchema,
  listSchema,
  nullableSchema,
  type OpenApiSchemas,
  object,
  ref,
  textSchema,
  time,
} from './schema.ts';

const position = integerSchema('Place in the history; later anchors have higher ones.');

export const ANCHOR_SCHEMAS: OpenApiSchemas = {
  Anchor: object({
    position,
    version: integerSchema('Version of the root.'),
    merkleRoot: textSchema('Root over all records: 64 hex digits.', { pattern: '^[0-9a-f]{64}$' }),
    vectorCount: integerSchema('Vectors under that root.'),
    decisions: nullableSchema(
      integerSchema(
        'Decisions of operators that the ledger had counted by then (`resume`, a return to anchoring). Null for anchors that an earlier version of Provec wrote.',
      ),
    ),
    ledgerTx: textSchema('Transaction that anchored the root.'),
    ledgerExplorerUrl: nullableSchema(textSchema('Shows the transaction; null with the embedded ledger.')),
    confirmedAt: time(),
    sealed: flagSchema(
      'Whether a seal shows that this service wrote the entry. False if an earlier version of Provec wrote it, or while the service has no keypair; then only the ledger shows whether it is right.',
    ),
  }),
  AnchorFault: object({
    position,
    fault: textSchema('What shows that the stored history was changed there.'),
  }),
};

export const ANCHOR_HISTORY = object(
  {
    anchors: listSchema(ref('Anchor')),
    faults: listSchema(ref('AnchorFault'), {
      description: 'Entries that someone changed or removed in the store; absent if there are none.',
    }),
    dropped: countSchema('Anchors, older than all others, that are no longer kept.'),
    nextCursor: nullableSchema(textSchema('Null on the last page.')),
  },
  ['faults'],
);

export const ANCHOR_DESCRIPTIONS: Descriptions = {
  'collections.anchors': [
    'listAnchors',
    'List the confirmed roots of a collection, newest first',
    ANCHOR_HISTORY,
    'This is the history of the collection: each root that the ledger confirmed, with its transaction. Provec keeps at least the newest 100,000; the ledger keeps the transactions of all. A page can have fewer anchors than `limit`: entries that the service did not write are named in `faults` and not listed. While nothing is anchored (by the plan, or with `PROVEC_LEDGER=off`), the list has what was anchored before.',
  ],
};
