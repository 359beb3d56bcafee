import { collectionFields, collectionName } from '../../../contracts/requests/collection-requests.ts';
import { updateSchema } from '../../../contracts/requests/update-request.ts';
import { namespace, recordId, recordSchema, vector } from '../../../contracts/requests/vector-requests.ts';
import { filterSchemas } from '../../../lib/filter/filter-schema.ts';
import type { Limits } from '../../../lib/limits.ts';
import type { Descriptions } from './operation.ts';
import {
  countSchema,
  flagSchema,
  integerSchema,
  listSchema,
  MORE,
  nullableSchema,
  type OpenApiSchema,
  type OpenApiSchemas,
  object,
  ref,
  TRUE,
  textSchema,
  time,
} from './schema.ts';

const METADATA: OpenApiSchema = { type: 'object', description: 'Free-form JSON object.', additionalProperties: true };
const hex = (description: string): OpenApiSchema => textSchema(description, { pattern: '^[0-9a-f]{64}$' });
const uuid = textSchema('UUID.', { format: 'uuid' });
const id = ref('RecordId');
const merkleRoot = hex('Root over all records: 64 hex digits.');
const version = integerSchema(
  'Number of commits behind the root; several writes may share a commit. It never decreases.',
);
const ledgerAddress = nullableSchema(textSchema("The collection's account on the ledger."));
const transactionUrl = textSchema(
  'Link to that transaction in an explorer. Null if no explorer can open it, as with the embedded ledger.',
);

/** The newest anchor of a collection. */
export const NEWEST_ANCHOR = object({
  status: textSchema(
    '`none` on plans without anchoring, and before the first write. `halted`: the stored data or the ledger contradicts what Provec recorded (see verify); Provec anchors nothing until the operator decides.',
    { enum: ['confirmed', 'pending', 'none', 'halted'] },
  ),
  version: nullableSchema(integerSchema('Version of the newest confirmed root.')),
  merkleRoot: nullableSchema(merkleRoot),
  ledgerTx: nullableSchema(textSchema('Transaction that anchored it.')),
  ledgerAddress,
  ledgerExplorerUrl: nullableSchema(transactionUrl),
  confirmedAt: nullableSchema(time()),
});

const WRITTEN: OpenApiSchemas = {
  merkleRoot,
  ledgerProgram: textSchema('Address of the anchoring program on the ledger.'),
  ledgerTx: nullableSchema(
    textSchema('Transaction that anchored a root with this write; null while pending and on plans without anchoring.'),
  ),
  ledgerExplorerUrl: nullableSchema(transactionUrl),
  version,
  vectorCount: integerSchema('Stored vectors after the write.'),
  anchor: object({ status: ref('AnchorStatus') }),
};

const warnings = listSchema(
  { type: 'string' },
  {
    description:
      'One sentence for each field in the request that no record of the namespace has, and for an integer above 2^53 that was rounded. Absent if there are none. Only keys with the scope `read` get suggestions.',
    minItems: 1,
  },
);

const UPDATE_RESULT = object(
  {
    matchedCount: countSchema('Records found, whether or not they changed.'),
    updatedCount: countSchema('Records that changed; 0 for a dry run.'),
    ...WRITTEN,
    warnings,
  },
  ['warnings'],
);
const DELETE_RESULT = object(
  {
    deleted: flagSchema('False for a dry run.'),
    deletedCount: countSchema('Records deleted, or found by a dry run.'),
    ...WRITTEN,
    warnings,
  },
  ['warnings'],
);

const SHARD_COUNTS: OpenApiSchemas = {
  total: integerSchema('Shards of the collection.'),
  ok: integerSchema('Shards that responded.'),
  failed: integerSchema('Shards that did not respond in time; their matches are missing.'),
};

/** States of the result of a verify. */
export const VERIFY_STATES = ['match', 'mismatch', 'pending', 'unreachable', 'none', 'not_anchored'];

const VERIFY_RESULT: OpenApiSchemas = {
  verified: flagSchema('True only for the state `match`.'),
  onChainRoot: nullableSchema(merkleRoot),
  computedRoot: merkleRoot,
  match: flagSchema('Whether the two roots are equal.'),
  vectorCount: integerSchema('Vectors in the collection.'),
  ledgerExplorerUrl: nullableSchema(
    textSchema("Link to the collection's account in an explorer. Null if no explorer can open it."),
  ),
  state: textSchema(
    '`unreachable`: the ledger is down. `none`: the collection was never written to, so the ledger has no root. `not_anchored`: the plan has no anchoring.',
    { enum: VERIFY_STATES },
  ),
  version: integerSchema('Version of the computed root.'),
  anchoredVersion: nullableSchema(integerSchema('Version on the ledger.')),
  ledgerAddress,
  checkedAt: time(),
  reason: textSchema('Why the state is not `match`.'),
  differences: listSchema(
    object({ id, namespace: ref('Namespace'), what: textSchema('What differs.') }, ['namespace']),
    {
      description: 'Records that differ.',
    },
  ),
};

/** What every view of a background verification has. */
export const VERIFICATION_STATE: OpenApiSchemas = {
  id: textSchema('Opaque id.'),
  state: textSchema('`done`: the verdict is in `result`. `failed`: the verification ended without a verdict.', {
    enum: ['running', 'done', 'failed'],
  }),
  progress: object({
    scanned: countSchema('Records hashed so far; equals `total` when done.'),
    total: countSchema('Records in the collection at the start.'),
  }),
};
const VERIFICATION: OpenApiSchemas = {
  ...VERIFICATION_STATE,
  result: { ...ref('VerifyResult'), description: 'Verdict, when done.' },
  error: object({ code: textSchema('Error code.'), message: textSchema('Error message.') }, [], {
    description: 'Error, when failed.',
  }),
};

const LEAF = object({
  key: hex('Hash of the namespace and id.'),
  vecHash: hex('Hash of the values.'),
  metaHash: hex('Hash of the metadata.'),
});
const RECORD_PROOF: OpenApiSchemas = {
  format: { type: 'string', const: 'PV1' },
  id,
  namespace: ref('Namespace'),
  present: flagSchema('True for a proof of presence, false for a proof of absence.'),
  merkleRoot,
  version: integerSchema('Version of that root.'),
  siblings: listSchema(hex('Hash of a subtree next to the path; 64 zeros if it is empty.'), {
    description: "Ordered from the collection's root down.",
  }),
  terminal: {
    description: 'Record at the end of the path. In a proof of absence: another record, or null.',
    oneOf: [LEAF, { type: 'null' }],
  },
  collectionId: uuid,
  ledgerAddress,
  ledgerTx: nullableSchema(
    textSchema(
      'Transaction that anchored that root. Null while its anchor is pending: to keep the proof, fetch it again until it names one.',
    ),
  ),
};

export function collectionSchemas(limits: Limits): OpenApiSchemas {
  const values = (description: string): OpenApiSchema => vector(limits, description).schema;
  const { name, dimensions, metric, ...options } = schemasOf(collectionFields(limits));
  const vector_count = countSchema('Number of stored vectors.');
  const collection = { id: uuid, name, dimensions, metric, vector_count, created_at: time(), ...options };
  const score = 'Higher is better: cosine similarity, dot product, or 1 / (1 + distance) for euclidean.';
  const namespaced = { ...ref('Namespace'), description: 'Only with `allNamespaces`.' };
  const match: OpenApiSchemas = {
    id,
    namespace: namespaced,
    score: { type: 'number', description: score },
    metadata: METADATA,
    values: values('Only with `includeValues`.'),
    distance: { type: 'number', description: 'Only for the metric `euclidean`.' },
  };
  return {
    CollectionName: collectionName(limits).schema,
    Collection: object(collection, ['tags', 'place']),
    CollectionDetail: object({ ...collection, merkleRoot, version, anchor: NEWEST_ANCHOR }, ['tags', 'place']),
    RecordId: recordId(limits).schema,
    Namespace: namespace(limits).schema,
    AnchorStatus: textSchema('`none` on plans without anchoring.', { enum: ['confirmed', 'pending', 'none'] }),
    Record: recordSchema(limits),
    UpsertResult: object({ upsertedCount: integerSchema('Records written.'), ...WRITTEN, warnings }, ['warnings']),
    RecordUpdate: updateSchema(limits, values('The new vector.')),
    UpdateResult: UPDATE_RESULT,
    DeleteResult: DELETE_RESULT,
    ...filterSchemas(limits),
    Match: object(match, ['namespace', 'metadata', 'values', 'distance']),
    ListedRecord: object(
      {
        id,
        namespace: namespaced,
        values: values('Only with `includeValues`.'),
        metadata: { ...METADATA, description: 'Only with `includeMetadata`.' },
      },
      ['namespace', 'values', 'metadata'],
    ),
    ExportLine: {
      description: 'One line of an export.',
      oneOf: [
        object({
          export: object({
            ...{ collectionId: uuid, name: ref('CollectionName'), dimensions, metric, version, merkleRoot },
            vectorCount: countSchema('Number of records that follow.'),
          }),
        }),
        object({ id, values: values('Stored as float32.'), metadata: METADATA, namespace: ref('Namespace') }, [
          'metadata',
          'namespace',
        ]),
        object({ end: object({ count: countSchema('Number of records sent.'), merkleRoot }) }),
      ],
    },
    StoredRecord: object({ id, values: values('Stored as float32.'), metadata: METADATA }),
    Alias: object({ alias: ref('CollectionName'), collection: ref('CollectionName') }),
    VerifyResult: object(VERIFY_RESULT, ['reason', 'differences']),
    Verification: object(VERIFICATION, ['result', 'error']),
    RecordProof: object(RECORD_PROOF, [], {
      description: 'The verifier in `client/` checks it offline, without this service.',
    }),
  };
}

const DETAIL = object({ collection: ref('CollectionDetail') });
const PROOF = object({ proof: ref('RecordProof') });
const SHARDS = object(SHARD_COUNTS, [], { description: 'Only with `allowPartial`.' });
const MATCHES = object({ matches: listSchema(ref('Match')), shards: SHARDS, warnings }, ['shards', 'warnings']);
const BY_ID = { type: 'object', description: 'Records by id.', additionalProperties: ref('StoredRecord') };

export const COLLECTION_DESCRIPTIONS: Descriptions = {
  'collections.putAlias': [
    'putAlias',
    'Create an alias of a collection, or switch it to another one',
    ref('Alias'),
    'An alias can be used wherever the name of a collection can, except to delete the collection. Requests that begin after the response use the new collection; requests that are already running finish on the old one. A name is either a collection or an alias.',
  ],
  'collections.getAlias': ['getAlias', 'Get the collection that an alias points to', ref('Alias')],
  'collections.aliasesPage': [
    'listAliases',
    'List aliases, by name',
    object({ aliases: listSchema(ref('Alias')), nextCursor: MORE }, ['nextCursor']),
  ],
  'collections.deleteAlias': ['deleteAlias', 'Delete an alias; its collection stays', object({ deleted: TRUE })],
  'collections.create': ['createCollection', 'Create a collection', object({ collection: ref('Collection') })],
  'collections.list': [
    'listCollections',
    'List collections, newest first',
    object({ collections: listSchema(ref('Collection')), nextCursor: MORE }, ['nextCursor']),
    'A page has at most about 400 kB, and so may have fewer than `limit` collections.',
  ],
  'collections.get': ['getCollection', 'Get a collection with its root and its newest anchor', DETAIL],
  'collections.update': [
    'updateCollection',
    'Change deletion protection or tags',
    DETAIL,
    'Only the given tags change; an empty text removes a tag. A collection without tags has no field `tags`.',
  ],
  'collections.remove': [
    'deleteCollection',
    'Delete a collection with everything in it',
    object({ deleted: TRUE }),
    'The name is free at once. A new collection with that name starts empty and has a different id.',
  ],
  'collections.upsert': [
    'upsertVectors',
    'Write records; an existing record is replaced as a whole',
    ref('UpsertResult'),
    'All or nothing per shard, and idempotent: after a timeout, send the same request again. On plans with anchoring, the response waits briefly for the anchor of its root.',
  ],
  'collections.import': [
    'importRecords',
    'Write any number of records, one per line',
    object({ importedCount: countSchema('Records written.'), ...WRITTEN, warnings }, ['warnings']),
    'Newline-delimited JSON of any size: a whole export, or only records, each with its `namespace` unless that is the default one. An import that begins with the first line of an export must end with its last line, whose `count` is the number of records. If the first line has other dimensions or another metric than the collection, the response is 400, and no record is written. To import an export under another metric, leave out its first line. Records are written in batches of up to 1,000 lines as they arrive. An error names the line and says how many records were stored before it; sending the whole import again does not change those.',
  ],
  'collections.query': [
    'queryVectors',
    'Find the most similar records',
    MATCHES,
    'Requires exactly one of `vector` and `id`. Matches are sorted best first, ties by id, or with `allNamespaces` by namespace and id.',
  ],
  'collections.queries': [
    'queryMany',
    'Find the most similar records for many vectors',
    object({ results: listSchema(MATCHES) }),
    'Each query is a body of `/query`, and its result has the same position. Each counts as one query of the plan. If one of them is invalid, none is run.',
  ],
  'collections.fetch': ['fetchVectors', 'Get records by id; missing ones are left out', object({ vectors: BY_ID })],
  'collections.count': [
    'countRecords',
    'Count records',
    object(
      {
        count: countSchema(
          'Number of matching records; without `filter`, of all records in the namespace, or with `allNamespaces` in the collection.',
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
        values: listSchema(object({ value: ref('FilterScalar'), count: countSchema('Records with that value.') })),
        missing: countSchema('Records without the field.'),
        warnings,
      },
      ['warnings'],
    ),
    'The most frequent values come first, equal counts in the order of values. A list counts once for each of its elements, and an object not at all. Counts as one query of the plan.',
  ],
  'collections.listRecords': [
    'listRecords',
    'List records in the order of their ids',
    object({ records: listSchema(ref('ListedRecord')), nextCursor: MORE, warnings }, ['nextCursor', 'warnings']),
    'Ids are sorted by their UTF-8 bytes. With `allNamespaces`, the records of named namespaces come first, by namespace and id, and those of the default namespace last. A cursor is valid only with the same `allNamespaces`. A record that exists from the first page to the last is listed exactly once, even during writes; with `eventual`, replicas that are behind may miss it. Does not count against the plan.',
  ],
  'collections.namespaces': [
    'listNamespaces',
    'List the namespaces with records, by name',
    object(
      {
        namespaces: listSchema(object({ name: ref('Namespace'), vectorCount: countSchema('Number of records.') })),
        nextCursor: MORE,
      },
      ['nextCursor'],
    ),
  ],
  'collections.deleteNamespace': [
    'deleteNamespace',
    'Delete all records of a namespace',
    ref('DeleteResult'),
    'Does the same as a delete with `all`. Use that for the default namespace and for namespaces named `.` and `..`: clients shorten such a path, and Provec responds with 404 to a DELETE whose path ends in a slash. A namespace exists as long as it has a record.',
  ],
  'collections.delete': [
    'deleteVectors',
    'Delete records by id, by filter, or all',
    ref('DeleteResult'),
    'Requires exactly one of `ids`, `filter` and `all`. Does not count against the plan. A delete by filter can cover all namespaces (`allNamespaces`). It deletes records that match when their shard is processed and that were not written after the delete began.',
  ],
  'collections.updateRecords': [
    'updateRecords',
    'Change vectors, and merge into metadata',
    ref('UpdateResult'),
    'Requires exactly one of `updates` and `filter`. A `filter` needs `setMetadata`, `unsetMetadata` or both. The merge is shallow: each key is set or removed as a whole, and concurrent updates of different keys are both kept. Each record that changes counts as one write of the plan. Near the limit, Provec first counts the records that would change, and refuses the update only if they are too many. If metadata would become too long, the response is a 400, even for a dry run, and no record changes. It names the record and its size if the key has the scope `read`. If a record outgrows the limit after that check, other shards may already have changed their records, and the response is 503. A dry run also needs the scope `read`.',
  ],
  'verification.verify': [
    'verifyCollection',
    'Compare the stored bytes with the root on the ledger',
    { oneOf: [ref('VerifyResult'), PROOF] },
    'Recomputes the root from the stored data. With `id`, returns a proof for that record instead.',
  ],
  'verification.begin': [
    'beginVerification',
    'Start to verify a collection in the background',
    ref('Verification'),
    'If a verification is already running, even one that another client started, the response is that one. Its verdict is about the `version` that it names. Poll the path in `Location`.',
  ],
  'verification.get': [
    'getVerification',
    'Get the progress and the verdict of a verification',
    ref('Verification'),
    'Provec keeps the last ten verifications of a collection for an hour after they end, and fewer if they use much memory. A verification is lost when the node that runs it stops: after `VERIFICATION_NOT_FOUND`, start another one.',
  ],
  'collections.proof': ['proveRecord', 'Prove that a record is, or is not, in a collection', PROOF],
  'collections.export': [
    'exportRecords',
    'Export all records of every namespace, in one state of the collection',
    ref('ExportLine'),
    'Newline-delimited JSON: a line with `export`, one line for each record in any order, and a line with `end`. The line of a record has its `namespace` unless that is the default one. All records together have the `merkleRoot` of the first line, even during writes. To find its anchor, look for that root among the anchors of the collection, not for the `version`: while several shards are written to, another root with the same version may be anchored. An export without its last line is incomplete: start it again.',
  ],
};

function schemasOf<N extends string>(fields: Readonly<Record<N, { schema: OpenApiSchema }>>): Record<N, OpenApiSchema> {
  const entries = Object.entries<{ schema: OpenApiSchema }>(fields).map(([name, { schema }]) => [name, schema]);
  return Object.fromEntries(entries) as Record<N, OpenApiSchema>;
}
