import { filterSchemas } from '../../../lib/filter/filter-schema.ts';
import type { Limits } from '../../../lib/limits.ts';
import { collectionFields, collectionName } from '../../../lib/requests/collection-requests.ts';
import { updateSchema } from '../../../lib/requests/update-request.ts';
import { namespace, recordId, recordSchema, vector } from '../../../lib/requests/vector-requests.ts';
import type { AllWords } from './operation.ts';
import {
  count,
  flag,
  integer,
  list,
  MORE,
  nullable,
  object,
  ref,
  type Schema,
  type Schemas,
  TRUE,
  text,
  time,
} from './schema.ts';

const METADATA: Schema = { type: 'object', description: 'Free-form JSON object.', additionalProperties: true };
const hex = (description: string): Schema => text(description, { pattern: '^[0-9a-f]{64}$' });
const uuid = text('UUID.', { format: 'uuid' });
const id = ref('RecordId');
const merkleRoot = hex('Root over all records: 64 hex digits.');
const version = integer(
  'Counts the writes behind the root, in the groups in which they were committed; it only grows.',
);
const ledgerAddress = nullable(text("The collection's account on the ledger."));
const transactionUrl = text(
  'That transaction in an explorer. Null if no explorer can open it, as with the embedded ledger.',
);

const ANCHOR = object({
  status: text(
    '`none` on plans without anchoring, and before the first write. `halted`: the stored data or the ledger contradicts what Provec recorded (see verify); Provec anchors nothing until the operator decides.',
    { enum: ['confirmed', 'pending', 'none', 'halted'] },
  ),
  version: nullable(integer('Version of the newest confirmed root.')),
  merkleRoot: nullable(merkleRoot),
  ledgerTx: nullable(text('Transaction that anchored it.')),
  ledgerAddress,
  ledgerExplorerUrl: nullable(transactionUrl),
  confirmedAt: nullable(time()),
});

const WRITTEN: Schemas = {
  merkleRoot,
  ledgerProgram: text('Address of the anchoring program on the ledger.'),
  ledgerTx: nullable(
    text('Transaction that anchored a root with this write; null while pending and on plans without anchoring.'),
  ),
  ledgerExplorerUrl: nullable(transactionUrl),
  version,
  vectorCount: integer('Stored vectors after the write.'),
  anchor: object({ status: ref('AnchorStatus') }),
};

const warnings = list(
  { type: 'string' },
  {
    description:
      'Absent: none. A sentence for each field that the request names and no record of the namespace has, and for an integer past 2^53 that is rounded. Only keys with the scope `read` get a suggestion.',
    minItems: 1,
  },
);

const UPDATE_RESULT = object(
  {
    matchedCount: count('Records that were found, changed or not.'),
    updatedCount: count('Records that changed; 0 for a dry run.'),
    ...WRITTEN,
    warnings,
  },
  ['warnings'],
);
const DELETE_RESULT = object(
  {
    deleted: flag('False for a dry run.'),
    deletedCount: count('Records that existed, or that a dry run found.'),
    ...WRITTEN,
    warnings,
  },
  ['warnings'],
);

const SHARD_COUNTS: Schemas = {
  total: integer('Shards of the collection.'),
  ok: integer('Shards that answered.'),
  failed: integer('Shards that did not answer in time; their matches are missing.'),
};

const VERIFY_RESULT: Schemas = {
  verified: flag('True only for the state `match`.'),
  onChainRoot: nullable(merkleRoot),
  computedRoot: merkleRoot,
  match: flag('Whether the two roots are equal.'),
  vectorCount: integer('Vectors in the collection.'),
  ledgerExplorerUrl: nullable(
    text("The collection's ledger address in an explorer; null where no explorer could open it."),
  ),
  state: text(
    '`unreachable`: the ledger is down; `none`: never written to, so the ledger holds no root; `not_anchored`: the plan has no anchoring.',
    { enum: ['match', 'mismatch', 'pending', 'unreachable', 'none', 'not_anchored'] },
  ),
  version: integer('Version of the computed root.'),
  anchoredVersion: nullable(integer('Version on the ledger.')),
  ledgerAddress,
  checkedAt: time(),
  reason: text('A sentence when the state is not match.'),
  differences: list(object({ id, namespace: ref('Namespace'), what: text('What differs.') }, ['namespace']), {
    description: 'Records that differ.',
  }),
};

const VERIFICATION: Schemas = {
  id: text('Opaque.'),
  state: text('`failed`: the verification came to no verdict; `done` says nothing of the verdict.', {
    enum: ['running', 'done', 'failed'],
  }),
  progress: object({
    scanned: count('Records recomputed so far; equals `total` when done.'),
    total: count('Records of the collection at the start.'),
  }),
  result: { ...ref('VerifyResult'), description: 'When done: the verdict.' },
  error: object({ code: text('As of an error.'), message: text('A sentence.') }, [], { description: 'When failed.' }),
};

const LEAF = object({
  key: hex('Hash of its namespace and id.'),
  vecHash: hex('Hash of its values.'),
  metaHash: hex('Hash of its metadata.'),
});
const RECORD_PROOF: Schemas = {
  format: { type: 'string', const: 'PV1' },
  id,
  namespace: ref('Namespace'),
  present: flag('Proof of presence, or of absence.'),
  merkleRoot,
  version: integer('Version of that root.'),
  siblings: list(hex('Hash of a subtree beside the path; of an empty one, 64 zeros.'), {
    description: "From the collection's root down.",
  }),
  terminal: {
    description: 'The record at the end of the path; in a proof of absence another one, or null.',
    oneOf: [LEAF, { type: 'null' }],
  },
  collectionId: uuid,
  ledgerAddress,
  ledgerTx: nullable(
    text(
      'Transaction that anchored that root. Null while none has: a proof without it holds only until the next anchor.',
    ),
  ),
};

export function collectionSchemas(limits: Limits): Schemas {
  const values = (description: string): Schema => vector(limits, description).schema;
  const fields = Object.entries(collectionFields(limits)).map(([field, { schema }]) => [field, schema]);
  const { name, dimensions, metric, ...options } = Object.fromEntries(fields) as Schemas;
  const vector_count = count('Number of stored vectors.');
  const collection = { id: uuid, name, dimensions, metric, vector_count, created_at: time(), ...options };
  const score = 'Higher is better: cosine similarity, dot product, or 1 / (1 + distance) for euclidean.';
  const namespaced = { ...ref('Namespace'), description: 'With allNamespaces.' };
  const match: Schemas = {
    id,
    namespace: namespaced,
    score: { type: 'number', description: score },
    metadata: METADATA,
    values: values('With includeValues.'),
    distance: { type: 'number', description: 'euclidean only.' },
  };
  return {
    CollectionName: collectionName(limits).schema,
    Collection: object(collection, ['tags', 'place']),
    CollectionDetail: object({ ...collection, merkleRoot, version, anchor: ANCHOR }, ['tags', 'place']),
    RecordId: recordId(limits).schema,
    Namespace: namespace(limits).schema,
    AnchorStatus: text('`none` on plans without anchoring.', { enum: ['confirmed', 'pending', 'none'] }),
    Record: recordSchema(limits),
    UpsertResult: object({ upsertedCount: integer('Records written.'), ...WRITTEN, warnings }, ['warnings']),
    RecordUpdate: updateSchema(limits, values('The new vector.')),
    UpdateResult: UPDATE_RESULT,
    DeleteResult: DELETE_RESULT,
    ...filterSchemas(limits),
    Match: object(match, ['namespace', 'metadata', 'values', 'distance']),
    ListedRecord: object(
      {
        id,
        namespace: namespaced,
        values: values('With includeValues.'),
        metadata: { ...METADATA, description: 'With includeMetadata.' },
      },
      ['namespace', 'values', 'metadata'],
    ),
    ExportLine: {
      description: 'One line of an export.',
      oneOf: [
        object({
          export: object({
            ...{ collectionId: uuid, name: ref('CollectionName'), dimensions, metric, version, merkleRoot },
            vectorCount: count('Records that follow.'),
          }),
        }),
        object({ id, values: values('Stored as float32.'), metadata: METADATA, namespace: ref('Namespace') }, [
          'metadata',
          'namespace',
        ]),
        object({ end: object({ count: count('Records that were sent.'), merkleRoot }) }),
      ],
    },
    StoredRecord: object({ id, values: values('Stored as float32.'), metadata: METADATA }),
    Alias: object({ alias: ref('CollectionName'), collection: ref('CollectionName') }),
    VerifyResult: object(VERIFY_RESULT, ['reason', 'differences']),
    Verification: object(VERIFICATION, ['result', 'error']),
    RecordProof: object(RECORD_PROOF, [], {
      description: 'The verifier in `client/` checks it offline, without this service.',
    }),
    Anchor: object({
      version: integer('Version of the root.'),
      merkleRoot,
      vectorCount: integer('Vectors under that root.'),
      ledgerTx: text('Transaction.'),
      ledgerExplorerUrl: nullable(transactionUrl),
      confirmedAt: time(),
    }),
  };
}

const DETAIL = object({ collection: ref('CollectionDetail') });
const PROOF = object({ proof: ref('RecordProof') });
const SHARDS = object(SHARD_COUNTS, [], { description: 'With `allowPartial` only.' });
const MATCHES = object({ matches: list(ref('Match')), shards: SHARDS, warnings }, ['shards', 'warnings']);
const BY_ID = { type: 'object', description: 'By id.', additionalProperties: ref('StoredRecord') };

export const COLLECTION_WORDS: AllWords = {
  'collections.putAlias': [
    'putAlias',
    'Make an alias of a collection, or switch it to another one',
    ref('Alias'),
    'An alias stands wherever the name of a collection may, but where the collection is deleted. Every request that begins after the answer finds the new collection; those under way end on the old one. Collections and aliases of an account share their names.',
  ],
  'collections.getAlias': ['getAlias', 'Which collection an alias stands for', ref('Alias')],
  'collections.aliasesPage': [
    'listAliases',
    'List aliases, by name',
    object({ aliases: list(ref('Alias')), nextCursor: MORE }, ['nextCursor']),
  ],
  'collections.deleteAlias': ['deleteAlias', 'Delete an alias; its collection stays', object({ deleted: TRUE })],
  'collections.create': ['createCollection', 'Create a collection', object({ collection: ref('Collection') })],
  'collections.list': [
    'listCollections',
    'List collections, newest first',
    object({ collections: list(ref('Collection')), nextCursor: MORE }, ['nextCursor']),
    'A page of about 400 kB ends before it has `limit` collections.',
  ],
  'collections.get': ['getCollection', 'A collection with its root and its newest anchor', DETAIL],
  'collections.update': [
    'updateCollection',
    'Change deletion protection or tags',
    DETAIL,
    'Tags are set one by one, the others stay, and an empty text removes one. A collection without tags has no field `tags`.',
  ],
  'collections.remove': [
    'deleteCollection',
    'Delete a collection with everything in it',
    object({ deleted: TRUE }),
    'The name is free at once; a new collection of that name starts empty and has another id.',
  ],
  'collections.upsert': [
    'upsertVectors',
    'Write records; an existing record is replaced as a whole',
    ref('UpsertResult'),
    'All or nothing per shard, and idempotent: after a time-out send the same request again. On plans with anchoring the answer waits a little for the anchor of its root.',
  ],
  'collections.import': [
    'importRecords',
    'Write records of any number, one a line',
    object({ importedCount: count('Records written.'), ...WRITTEN, warnings }, ['warnings']),
    'Newline-delimited JSON without a limit on its size: an export as it is, or records alone, each with its `namespace` where it has one. An import that begins with the first line of an export has to end with the last one, whose `count` is the number of its records. If that first line names other dimensions or another metric than the collection has, the answer is 400, and no record is written. To import the records of an export under another metric, leave its first line out. Records are written in entries of up to 1,000 lines as they come. An error names the line and says how many records were stored before; sending the whole import again changes nothing about those.',
  ],
  'collections.query': [
    'queryVectors',
    'Find the most similar records',
    MATCHES,
    'Exactly one of `vector` and `id`. Best first, ties by id, with `allNamespaces` by namespace and id.',
  ],
  'collections.queries': [
    'queryMany',
    'Find the most similar records for many vectors',
    object({ results: list(MATCHES) }),
    'Each is what `/query` takes, and is answered in its place; it counts as one query of the plan. If one of them is wrong, none is carried out.',
  ],
  'collections.fetch': ['fetchVectors', 'Records by id; absent ones are left out', object({ vectors: BY_ID })],
  'collections.count': [
    'countRecords',
    'Count records',
    object(
      {
        count: count(
          'Records that match; without `filter` all of the namespace, or with `allNamespaces` of the collection.',
        ),
        warnings,
      },
      ['warnings'],
    ),
  ],
  'collections.facets': [
    'facetRecords',
    'Count the values of a metadata field',
    object(
      {
        values: list(object({ value: ref('FilterScalar'), count: count('Records that have it.') })),
        missing: count('Records that do not have the field.'),
        warnings,
      },
      ['warnings'],
    ),
    'The values that most records have, most first, equal counts in the order of values. A list counts once for each of its elements, an object for nothing. Counts as one query of the plan.',
  ],
  'collections.listRecords': [
    'listRecords',
    'List records in the order of their ids',
    object({ records: list(ref('ListedRecord')), nextCursor: MORE, warnings }, ['nextCursor', 'warnings']),
    'Ids are in the order of their UTF-8 bytes; with `allNamespaces` the records of named namespaces come first, by namespace and id, and those of the default one last. A cursor belongs to one of the two forms. A record that stays from the first page to the last is listed exactly once, whatever is written meanwhile; with `eventual` copies that are behind may miss it. Costs nothing of the plan.',
  ],
  'collections.namespaces': [
    'listNamespaces',
    'List the namespaces that hold records, by name',
    object(
      {
        namespaces: list(object({ name: ref('Namespace'), vectorCount: count('Records in it.') })),
        nextCursor: MORE,
      },
      ['nextCursor'],
    ),
  ],
  'collections.deleteNamespace': [
    'deleteNamespace',
    'Delete all records of a namespace',
    ref('DeleteResult'),
    'As a delete with `all`, which also deletes the default namespace and those named `.` and `..`: clients cut such a path short, and Provec answers 404 to a DELETE of a path that ends in a slash. A namespace exists as long as it holds a record.',
  ],
  'collections.delete': [
    'deleteVectors',
    'Delete records by id, by filter, or all',
    ref('DeleteResult'),
    'Exactly one of `ids`, `filter` and `all`. Costs nothing of the plan. A delete by filter may take those of all namespaces (`allNamespaces`). It deletes records that match when their shard is processed and were not written after the delete began.',
  ],
  'collections.updateRecords': [
    'updateRecords',
    'Change vectors, and merge into metadata',
    ref('UpdateResult'),
    'Exactly one of `updates` and `filter`, which takes `setMetadata`, `unsetMetadata` or both beside it. The merge is shallow: each key is set or removed as a whole, and concurrent updates of different keys both stand. One write of the plan for each record that changes. Near the limit Provec first counts the records that would change, and refuses the update only if they are too many. Metadata that would become too long is a 400 that names the record, in a dry run too, and then no record changes. If a record outgrows the limit after Provec has looked at it, other shards may have changed theirs by then, and the answer is 503. A dry run also needs the scope `read`.',
  ],
  'verification.verify': [
    'verifyCollection',
    'Compare the stored bytes with the root on the ledger',
    { oneOf: [ref('VerifyResult'), PROOF] },
    'Recomputes the root from the stored data. With `id`, returns a proof for that record instead.',
  ],
  'verification.begin': [
    'beginVerification',
    'Begin to verify the collection in the background',
    ref('Verification'),
    'While one runs, the answer is that one, even if another client began it; its verdict is of the `version` that it names. Poll the path in `Location`.',
  ],
  'verification.get': [
    'getVerification',
    'How far a verification is, and its verdict',
    ref('Verification'),
    'A verification that ended stays for an hour, the last ten of a collection at most, less where they take much memory. It ends with the node that runs it: after `VERIFICATION_NOT_FOUND` begin another one.',
  ],
  'collections.proof': ['proveRecord', 'Proof that a record is, or is not, in the collection', PROOF],
  'collections.export': [
    'exportRecords',
    'All records, of every namespace, in one state of the collection',
    ref('ExportLine'),
    'Always exports all namespaces; the line of a record has its `namespace` unless that is the default one. Newline-delimited JSON: a line with `export`, one for each record in any order, a line with `end`. All records together have the `merkleRoot` of the first line, whatever is written meanwhile. Look for that root among the anchors of the collection, not for the `version`: while several shards are written, another root of the same version may be anchored. An export without its last line was cut off: start it again.',
  ],
  'collections.anchors': [
    'listAnchors',
    'All confirmed roots, newest first',
    object({ anchors: list(ref('Anchor')), nextCursor: nullable(text('Null on the last page.')) }),
  ],
};
