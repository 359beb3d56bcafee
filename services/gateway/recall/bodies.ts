import { ANY_INDEX } from '../bodies/extracted-vectors.ts';
import { registerBodies, type Translation } from '../bodies/translation.ts';

/**
 * Bodies of the earlier service's SDKs. The Python SDK sends null for an absent value, and both
 * SDKs may upsert an empty list. Unknown fields are ignored unless they look like a misspelling of
 * a known one.
 */
export const RECALL_BODIES = {
  'recall/upsert': {
    request: 'upsert',
    members: ['records'],
    vectorsAt: ['records', ANY_INDEX, 'values'],
    relaxed: (context) => ({ ...context, recordsMin: 0 }),
    translate: ({ records }) => ({ records }),
  },
  'recall/query': {
    request: 'query',
    members: ['vector', 'topK', 'filter', 'includeValues', 'includeMetadata'],
    vectorsAt: ['vector'],
    translate: ({ vector, topK, filter, includeValues, includeMetadata }) => ({
      vector,
      topK: topK ?? undefined,
      filter: filter ?? undefined,
      includeValues: includeValues ?? undefined,
      includeMetadata: includeMetadata ?? undefined,
    }),
  },
} as const satisfies Record<string, Translation>;
registerBodies(RECALL_BODIES);
