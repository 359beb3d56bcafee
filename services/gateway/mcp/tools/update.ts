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

const FIELDS = ['id', 'text', 'values', 'setMetadata', 'unsetMetadata'];
const OLD_VECTORS =
  'The vectors are unchanged, because this service makes none of text: give values with the new text.';

export const updateTool: Tool = {
  name: 'update',
  description: 'Change stored records by id: their text, their vector, keys of their metadata. Skips unknown ids.',
  access: 'write',
  properties: {
    updates: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: TEXT,
          text: TEXT,
          values: NUMBERS,
          setMetadata: OBJECT,
          unsetMetadata: { type: 'array', items: TEXT },
        },
        required: ['id'],
      },
      maxItems: INTERNAL_LIMITS.mcpRecordsMax,
    },
    namespace: NAMESPACE,
  },
  required: ['updates'],
  hints: { destructiveHint: true, idempotentHint: true },
  run(args, calls) {
    const given = args.objects('updates', INTERNAL_LIMITS.mcpRecordsMax, FIELDS);
    const updates = given.map(updateOf);
    const keepsVectors = calls.embedder === null && given.some(isRetold);
    return calls.call(REST.update, {
      target: args.collection,
      body: async (collection) => ({
        ...args.pick('namespace'),
        updates: await withVectors(updates, given, collection, calls),
      }),
      answer: (result) => {
        const { matchedCount, updatedCount } = result;
        const note = keepsVectors ? { note: OLD_VECTORS } : {};
        return answerOf(
          JSON.stringify({ ...note, matchedCount, updatedCount, ...writeFields(result), ...warned(args) }),
        );
      },
    });
  },
};

/** Whether an update changes a text without its vector. */
const isRetold = ({ text, values }: JsonObject): boolean => text !== undefined && values === undefined;

/** Returns an update as the route takes it, with its text in the metadata. */
function updateOf({ text, ...rest }: JsonObject, at: number): JsonObject {
  const { setMetadata } = rest;
  if (text === undefined) return rest;
  const path = `updates[${at}].text`;
  textAt(text, path);
  if (isJsonObject(setMetadata) && setMetadata.text !== undefined)
    throw invalidValue(path, 'given once', 'given in setMetadata too');
  // What is no object stays as it is, and the route names it.
  if (setMetadata !== undefined && !isJsonObject(setMetadata)) return rest;
  return { ...rest, setMetadata: { ...setMetadata, text } };
}

async function withVectors(
  updates: readonly JsonObject[],
  given: readonly JsonObject[],
  collection: CollectionRow,
  calls: RestCalls,
): Promise<readonly JsonObject[]> {
  if (calls.embedder === null) return updates;
  const texts = given.flatMap((each, at) =>
    isRetold(each) ? [{ text: each.text as string, path: `updates[${at}].text` }] : [],
  );
  const made = (await vectorsOf(texts, collection, calls)).values();
  return updates.map((each, at) => (isRetold(given[at] ?? {}) ? { ...each, values: made.next().value } : each));
}
