import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { REST } from '../rest-routes.ts';
import { IDS, NAMESPACE } from './schemas.ts';
import { answerOf, type Tool } from './tool.ts';
import { writeFields } from './write-fields.ts';

/** Deletes by id alone: an agent that is misled cannot delete what it has not found. */
export const forgetTool: Tool = {
  name: 'forget',
  description: 'Delete records by id, for good. prove then shows that they are absent.',
  access: 'write',
  properties: { ids: IDS, namespace: NAMESPACE },
  required: ['ids'],
  hints: { destructiveHint: true, idempotentHint: true },
  run(args, calls) {
    const ids = args.list('ids', INTERNAL_LIMITS.mcpIdsMax);
    return calls.call(REST.delete, {
      target: args.collection,
      body: () => ({ ids, ...args.pick('namespace') }),
      answer: (result) => answerOf(JSON.stringify({ deletedCount: result.deletedCount, ...writeFields(result) })),
    });
  },
};
