import { invalidArgument } from '../../lib/errors.ts';
import type { FilterNode } from '../../lib/filter/ast.ts';
import { hasEmptyPart, parseFilter } from '../../lib/filter/parse.ts';
import { type JsonSchema, ref } from '../../lib/json/schema.ts';
import type { Limits } from '../../lib/limits.ts';
import type { RecordBatch } from '../../lib/records/batch.ts';
import { decodeRecords, type RECORD_FIELDS } from '../../lib/records/decode.ts';
import { decodeFieldName, FIELD_NAME_MAX_BYTES } from '../../lib/records/field-name.ts';
import { boundedArray, invalidValue, isJsonObject } from '../../lib/records/fields.ts';
import { decodeId, decodeIds, decodeNamespace } from '../../lib/records/ids.ts';
import { decodeVector, FLOAT32_END } from '../../lib/records/vector.ts';
import {
  choiceField,
  componentField,
  type Field,
  finiteNumber,
  flagField,
  integerField,
  optionalField,
  shapeOf,
  trueField,
} from './field.ts';
import { importedLines } from './import-request.ts';
import { checkListingCursor, cursorAfter, STORED_CURSOR_MAX_CHARS } from './listing-cursor.ts';
import { RequestKind } from './request.ts';
import { setMetadata, unsetMetadata, updates } from './update-request.ts';

const CONSISTENCIES = ['strong', 'eventual'] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

export const recordId = (limits: Limits): Field<string> => ({
  schema: {
    type: 'string',
    description: `1 to ${limits.idMaxBytes} bytes of well-formed UTF-8, any characters; the first is not U+0000.`,
    minLength: 1,
    maxLength: limits.idMaxBytes,
  },
  decode: (value, path) => decodeId(value, path, limits),
});

export const vector = (limits: Limits, description: string): Field<Float32Array> => ({
  schema: {
    type: 'array',
    description,
    items: { type: 'number', exclusiveMinimum: -FLOAT32_END, exclusiveMaximum: FLOAT32_END },
    minItems: 1,
    maxItems: limits.dimensionsMax,
  },
  decode(value, path, context) {
    const { dimensions, metric } = shapeOf(context);
    return decodeVector(value, path, dimensions, metric);
  },
});

/** Duplicates are dropped; the order is kept. */
const ids = (limits: Limits): Field<string[]> => ({
  schema: {
    type: 'array',
    items: ref('RecordId'),
    minItems: 1,
    maxItems: limits.idsPerRequestMax,
  },
  decode: (value, path) => decodeIds(value, path, limits),
});

/** Schema of a record that `decodeRecords` accepts. */
export function recordSchema(limits: Limits): JsonSchema {
  const values = 'As many as the collection has dimensions; stored as float32. For `cosine` not all zero.';
  const { metadataMaxBytes, metadataMaxLevels } = limits;
  const properties: Record<(typeof RECORD_FIELDS)[number], JsonSchema> = {
    id: ref('RecordId'),
    values: vector(limits, values).schema,
    metadata: {
      type: 'object',
      description: `At most ${metadataMaxBytes} bytes as compact JSON and ${metadataMaxLevels} levels, with names of at most ${FIELD_NAME_MAX_BYTES} bytes; returned equal to what was sent. Numbers are IEEE 754 doubles: an integer past 2^53 is rounded to the nearest one, and \`warnings\` of the answer say so.`,
      additionalProperties: true,
    },
  };
  return { type: 'object', properties, required: ['id', 'values'], additionalProperties: false };
}

const records = (limits: Limits): Field<RecordBatch> => ({
  schema: {
    type: 'array',
    description: 'If several records have the same id, the last one wins.',
    items: ref('Record'),
    minItems: 1,
    maxItems: limits.recordsPerUpsertMax,
  },
  decode(value, _path, context) {
    const { dimensions, metric } = shapeOf(context);
    return decodeRecords(value, { dimensions, metric, limits }, context.recordsMin);
  },
});

/** Null if the filter matches every record. */
const filter = (limits: Limits): Field<FilterNode | null> => ({
  schema: ref('Filter'),
  decode: (value, path) => parseFilter(value, limits, path),
});

/** A filter of a write. Rejects `{}`, even as a part, in case the client lost a condition. */
const requiredFilter = (limits: Limits): Field<FilterNode> => ({
  schema: { type: 'object', allOf: [ref('Filter')], minProperties: 1 },
  decode(value, path) {
    const node = parseFilter(value, limits, path);
    if (node === null) throw invalidValue(path, 'a filter with a condition', 'an empty object');
    if (hasEmptyPart(node))
      throw invalidValue(path, 'a filter with a condition in each of its parts', 'one with an empty object');
    return node;
  },
});

const fieldName: Field<string> = {
  schema: {
    type: 'string',
    description: 'A field of the metadata, as filters name it: a top-level key, else a dotted path.',
    minLength: 1,
    maxLength: FIELD_NAME_MAX_BYTES,
  },
  decode(value, path) {
    const what = 'the name of a metadata field';
    if (value === '') throw invalidArgument(path, what, value);
    return decodeFieldName(value, path, what);
  },
};

const prefix = (limits: Limits): Field<string> => ({
  ...recordId(limits),
  schema: { ...recordId(limits).schema, description: 'Only records whose ids begin with it, byte for byte.' },
});

/** Checks the cursor and leaves it as it was sent. */
const listingCursor: Field<string> = {
  schema: {
    type: 'string',
    description: '`nextCursor` of the page before. `prefix` and `filter` may differ from that page.',
    minLength: cursorAfter('-').length,
    maxLength: STORED_CURSOR_MAX_CHARS,
  },
  decode(value) {
    checkListingCursor(value);
    return value as string;
  },
};
export const namespace = (limits: Limits): Field<string> => ({
  schema: {
    type: 'string',
    description: `At most ${limits.namespaceMaxBytes} bytes of well-formed UTF-8 without U+0000; empty: the default namespace.`,
    maxLength: limits.namespaceMaxBytes,
  },
  decode: (value, path) => decodeNamespace(value, path, limits),
});

const allNamespaces = (others: string): Field<boolean> =>
  flagField(
    `The records of all namespaces; each in the answer then has its \`namespace\`. Not allowed with ${others}.`,
  );

const consistency = choiceField(
  '`strong`: the answer reflects every write acknowledged before it. `eventual`: a copy may answer, and it may be behind.',
  CONSISTENCIES,
);

const queryKind = (limits: Limits) =>
  new RequestKind(
    {
      vector: optionalField(vector(limits, 'The vector to search near.')),
      id: optionalField(componentField('RecordId', recordId(limits))),
      topK: optionalField(integerField('Maximum number of matches to return.', 1, limits.topKMax), limits.topKDefault),
      filter: optionalField(filter(limits)),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
      allNamespaces: optionalField(allNamespaces('`namespace` or `id`'), false),
      includeValues: optionalField(flagField('Return the vectors as well.'), false),
      includeMetadata: optionalField(flagField('Return the metadata as well.'), true),
      scoreThreshold: optionalField(finiteNumber('Only matches with at least this score.')),
      exact: optionalField(flagField('Compare with every record instead of searching the index.'), false),
      consistency: optionalField(consistency, 'strong'),
      allowPartial: optionalField(
        flagField('Answer from the shards that respond within 3 s, and say how many did.'),
        false,
      ),
    },
    ['vector', 'id'],
    ['allNamespaces', ['namespace', 'id']],
  );

const queries = (limits: Limits): Field<ReturnType<ReturnType<typeof queryKind>['decode']>[]> => {
  const kind = queryKind(limits);
  return {
    schema: { type: 'array', items: ref('Query'), minItems: 1, maxItems: limits.queriesPerRequestMax },
    decode(value, path, context) {
      const given = boundedArray(value, path, 1, limits.queriesPerRequestMax, 'queries');
      return given.map((each, at) => {
        const place = `${path}[${at}]`;
        if (!isJsonObject(each)) throw invalidArgument(place, 'an object with what a query takes', each);
        kind.refuseUnknown(each, place);
        return kind.decode(each, context, place);
      });
    },
  };
};

export const vectorRequests = (limits: Limits) => ({
  upsert: new RequestKind({
    records: records(limits),
    namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
    waitForAnchor: optionalField(
      flagField('Whether the response waits briefly for the anchor of its root; default: true.'),
    ),
  }),
  import: new RequestKind({ lines: importedLines(limits) }),
  delete: new RequestKind(
    {
      ids: optionalField(ids(limits)),
      filter: optionalField(requiredFilter(limits)),
      all: optionalField(trueField('Delete all records of the namespace.')),
      dryRun: optionalField(flagField('Count what would be deleted, and delete nothing.'), false),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
      allNamespaces: optionalField(allNamespaces('`namespace`, `ids` or `all`'), false),
    },
    ['ids', 'filter', 'all'],
    ['allNamespaces', ['namespace', 'ids', 'all']],
  ),
  update: new RequestKind(
    {
      updates: optionalField(updates(limits)),
      filter: optionalField(requiredFilter(limits)),
      setMetadata: optionalField(setMetadata(limits)),
      unsetMetadata: optionalField(unsetMetadata(limits)),
      dryRun: optionalField(flagField('Count what would be updated, and update nothing.'), false),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
    },
    ['updates', 'filter'],
  ),
  fetch: new RequestKind({
    ids: ids(limits),
    namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
    consistency: optionalField(consistency, 'strong'),
  }),
  count: new RequestKind(
    {
      filter: optionalField(filter(limits)),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
      allNamespaces: optionalField(allNamespaces('`namespace`'), false),
      consistency: optionalField(consistency, 'strong'),
    },
    null,
    ['allNamespaces', ['namespace']],
  ),
  facets: new RequestKind(
    {
      field: fieldName,
      filter: optionalField(filter(limits)),
      limit: optionalField(
        integerField('Maximum number of values to return.', 1, limits.facetsMax),
        limits.facetsDefault,
      ),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
      allNamespaces: optionalField(allNamespaces('`namespace`'), false),
      consistency: optionalField(consistency, 'strong'),
    },
    null,
    ['allNamespaces', ['namespace']],
  ),
  list: new RequestKind(
    {
      prefix: optionalField(prefix(limits)),
      namespace: optionalField(componentField('Namespace', namespace(limits)), ''),
      allNamespaces: optionalField(allNamespaces('`namespace` or `prefix`'), false),
      filter: optionalField(filter(limits)),
      limit: optionalField(
        integerField('Maximum number of records to return.', 1, limits.listPageMax),
        limits.listPageDefault,
      ),
      cursor: optionalField(listingCursor),
      includeValues: optionalField(flagField('Return the vectors as well.'), false),
      includeMetadata: optionalField(flagField('Return the metadata as well.'), false),
      consistency: optionalField(consistency, 'strong'),
    },
    null,
    ['allNamespaces', ['namespace', 'prefix']],
  ),
  query: queryKind(limits),
  queries: new RequestKind({ queries: queries(limits) }),
});
