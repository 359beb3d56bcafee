import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { warningsOf } from '../../warnings.ts';
import type { RestCalls } from '../rest-calls.ts';
import { REST } from '../rest-routes.ts';
import { countTo, FILTER, NAMESPACE, TEXT } from './schemas.ts';
import { recordsAnswer, warned } from './stored-records.ts';
import type { Tool, ToolAnswer } from './tool.ts';
import type { ToolArguments } from './tool-arguments.ts';
import type { WarnedInput } from './warned-input.ts';

const PAGE = 20;

export const listTool: Tool = {
  name: 'list',
  description:
    'List the collections; with a collection, its records in the order of their ids. cursor: nextCursor of the page before.',
  access: 'read',
  collection: 'Leave out to list collections.',
  properties: {
    prefix: TEXT,
    filter: FILTER,
    limit: countTo(INTERNAL_LIMITS.mcpPageMax),
    cursor: TEXT,
    namespace: NAMESPACE,
  },
  required: [],
  hints: {},
  run: (args, calls) => (args.namedCollection === undefined ? collections(args, calls) : records(args, calls)),
};

function records(args: ToolArguments, calls: RestCalls): Promise<ToolAnswer> {
  const limit = args.count('limit', PAGE, INTERNAL_LIMITS.mcpPageMax);
  return calls.call(REST.list, {
    target: args.collection,
    body: () => ({ ...args.pick('prefix', 'filter', 'cursor', 'namespace'), limit, includeMetadata: true }),
    answer(page, request) {
      const { nextCursor } = page;
      const shown = page.records.map(({ id, metadata }) => ({ fields: { id }, metadata }));
      return recordsAnswer('records', shown, { nextCursor, ...warned(args, warningsOf(page, request as WarnedInput)) });
    },
  });
}

function collections(args: ToolArguments, calls: RestCalls): Promise<ToolAnswer> {
  const limit = String(args.count('limit', PAGE, INTERNAL_LIMITS.mcpPageMax));
  return calls.call(REST.collections, {
    query: { limit, cursor: args.string('cursor') },
    answer(page) {
      const shown = page.collections.map(({ name, dimensions, metric, vector_count: records }) => ({
        fields: { name, dimensions, metric, records },
      }));
      return recordsAnswer('collections', shown, { nextCursor: page.nextCursor });
    },
  });
}
