import { createHash } from 'node:crypto';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { invalidValue, isJsonObject, type JsonObject } from '../../../../lib/records/fields.ts';
import type { CollectionRow } from '../../../../store/catalog.ts';
import type { RestCalls } from '../rest-calls.ts';
import { REST } from '../rest-routes.ts';
import { NAMESPACE, NUMBERS, OBJECT, TEXT } from './schemas.ts';
import { warned } from './stored-records.ts';
import { vectorsOf } from './text-vectors.ts';
import { answerOf, type Tool } from './tool.ts';
import { textAt } from './tool-arguments.ts';
import { writeFields } from './write-fields.ts';

const FIELDS = ['text', 'values', 'metadata', 'id'];

export const rememberTool: Tool = {
  name: 'remember',
  description:
    'Store records. text goes into the metadata; values is the vector, which the service makes of the text if it can. ' +
    'Without id, equal records get the same id. With the id of a stored record, that record is replaced.',
  access: 'write',
  properties: {
    records: {
      type: 'array',
      items: { type: 'object', properties: { text: TEXT, values: NUMBERS, metadata: OBJECT, id: TEXT } },
      maxItems: INTERNAL_LIMITS.mcpRecordsMax,
    },
    namespace: NAMESPACE,
  },
  required: ['records'],
  hints: { destructiveHint: true, idempotentHint: true },
  run(args, calls) {
    const given = args.objects('records', INTERNAL_LIMITS.mcpRecordsMax, FIELDS);
    const records = given.map(recordOf);
    return calls.call(REST.upsert, {
      target: args.collection,
      body: async (collection) => ({
        ...args.pick('namespace'),
        records: await withVectors(records, given, collection, calls),
      }),
      answer: (result) =>
        answerOf(JSON.stringify({ ids: records.map(({ id }) => id), ...writeFields(result), ...warned(args) })),
    });
  },
};

/** Returns a record as the route takes it, with its text in the metadata. */
function recordOf(given: JsonObject, at: number): JsonObject {
  const { text, values, metadata } = given;
  const path = `records[${at}]`;
  if (text === undefined && values === undefined) throw invalidValue(`${path}.text`, 'given, or values', 'missing');
  if (text !== undefined) textAt(text, `${path}.text`);
  if (text !== undefined && isJsonObject(metadata) && metadata.text !== undefined)
    throw invalidValue(`${path}.text`, 'given once', 'given in the metadata too');
  // What is no object stays as it is, and the route names it.
  const isMergeable = metadata === undefined || isJsonObject(metadata);
  const all = text !== undefined && isMergeable ? { ...(metadata as JsonObject | undefined), text } : metadata;
  return {
    id: given.id ?? idOf(given),
    ...(values !== undefined && { values }),
    ...(all !== undefined && { metadata: all }),
  };
}

/** Returns an id that follows from the content, so that a call sent again stores nothing twice. */
function idOf({ text, values, metadata }: JsonObject): string {
  const content = JSON.stringify([text ?? null, metadata ?? null, text === undefined ? values : null]);
  return `m-${createHash('sha256').update(content).digest('hex').slice(0, 32)}`;
}

async function withVectors(
  records: readonly JsonObject[],
  given: readonly JsonObject[],
  collection: CollectionRow,
  calls: RestCalls,
): Promise<JsonObject[]> {
  const texts = given.flatMap(({ text, values }, at) =>
    values === undefined ? [{ text: text as string, path: `records[${at}].text` }] : [],
  );
  const made = (await vectorsOf(texts, collection, calls)).values();
  return records.map((record) => (record.values === undefined ? { ...record, values: made.next().value } : record));
}
