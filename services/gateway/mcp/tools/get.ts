import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { REST } from '../rest-routes.ts';
import { IDS, NAMESPACE } from './schemas.ts';
import { recordsAnswer } from './stored-records.ts';
import type { Tool } from './tool.ts';

export const getTool: Tool = {
  name: 'get',
  description: 'Read records by id, without their vectors.',
  access: 'read',
  properties: { ids: IDS, namespace: NAMESPACE },
  required: ['ids'],
  hints: {},
  run(args, calls) {
    const ids = args.list('ids', INTERNAL_LIMITS.mcpIdsMax);
    return calls.call(REST.fetch, {
      target: args.collection,
      body: () => ({ ids, ...args.pick('namespace') }),
      answer(records) {
        const found = new Set(records.map(({ id }) => id));
        const missing = ids.filter((id) => !found.has(id as string));
        const shown = records.map(({ id, metadata }) => ({ fields: { id }, metadata }));
        return recordsAnswer('records', shown, missing.length === 0 ? {} : { missing });
      },
    });
  },
};
