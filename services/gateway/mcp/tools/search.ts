import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { invalidValue } from '../../../../lib/records/fields.ts';
import { warningsOf } from '../../warnings.ts';
import { REST } from '../rest-routes.ts';
import { countTo, NAMESPACE, NUMBERS, TEXT } from './schemas.ts';
import { recordsAnswer, warned } from './stored-records.ts';
import { vectorOf } from './text-vectors.ts';
import type { Tool } from './tool.ts';
import type { WarnedInput } from './warned-input.ts';

const TOP_K = 10;

export const searchTool: Tool = {
  name: 'search',
  description: 'Find the records nearest to a text, to a vector, or to the record with an id. Give one of the three.',
  access: 'read',
  properties: {
    text: TEXT,
    vector: NUMBERS,
    id: TEXT,
    topK: countTo(INTERNAL_LIMITS.mcpTopKMax),
    filter: {
      type: 'object',
      description:
        'On metadata: {"year":{"$gte":2026},"tag":{"$in":["a","b"]}}. Operators: $eq $ne $gt $gte $lt $lte $in $nin $exists $and $or $not.',
    },
    namespace: NAMESPACE,
  },
  required: [],
  hints: {},
  run(args, calls) {
    const given = ['text', 'vector', 'id'].filter((name) => args.has(name));
    if (given.length !== 1)
      throw invalidValue('text', 'given, or vector, or id: one of them', given.length === 0 ? 'missing' : 'not alone');
    const topK = args.count('topK', TOP_K, INTERNAL_LIMITS.mcpTopKMax);
    const text = args.text('text');
    return calls.call(REST.query, {
      target: args.collection,
      async body(collection) {
        const vector = text === undefined ? {} : { vector: await vectorOf(text, 'text', collection, calls) };
        return { ...args.pick('vector', 'id', 'filter', 'namespace'), ...vector, topK };
      },
      answer: (result, request) =>
        recordsAnswer(
          'matches',
          result.matches.map(({ id, metadata, score }) => ({ fields: { id, score }, metadata })),
          warned(args, warningsOf(result, request as WarnedInput)),
        ),
    });
  },
};
