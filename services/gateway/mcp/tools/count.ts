import { warningsOf } from '../../warnings.ts';
import { REST } from '../rest-routes.ts';
import { FILTER, NAMESPACE } from './schemas.ts';
import { warned } from './stored-records.ts';
import { answerOf, type Tool } from './tool.ts';
import type { WarnedInput } from './warned-input.ts';

export const countTool: Tool = {
  name: 'count',
  description: 'Count records.',
  access: 'read',
  properties: { filter: FILTER, namespace: NAMESPACE },
  required: [],
  hints: {},
  run: (args, calls) =>
    calls.call(REST.count, {
      target: args.collection,
      body: () => args.pick('filter', 'namespace'),
      answer: (result, request) =>
        answerOf(JSON.stringify({ count: result.count, ...warned(args, warningsOf(result, request as WarnedInput)) })),
    }),
};
