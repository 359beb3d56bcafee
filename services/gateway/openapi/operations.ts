import { list, object, type Schema, text } from './schema.ts';

const TAG = 'Operations';

function page(id: string, summary: string, responses: Record<string, Schema>): Schema {
  return { get: { operationId: id, tags: [TAG], summary, security: [], responses } };
}

const json = (description: string, schema: Schema): Schema => ({
  description,
  content: { 'application/json': { schema } },
});

/** Paths outside `/api/v1`: no key, nothing of any tenant. */
export const OPERATION_PATHS: Readonly<Record<string, Schema>> = {
  '/': page('about', 'What this is, and where to go on', {
    200: { description: 'A page for people.', content: { 'text/html': { schema: { type: 'string' } } } },
  }),
  '/livez': page('livez', 'The process runs', { 200: json('It does.', object({ status: text('`live`') })) }),
  '/readyz': page('readyz', 'The service can serve', {
    200: json('It can.', object({ status: text('`ready`') })),
    503: json(
      'Not yet, or no more.',
      object({ status: { type: 'string', enum: ['starting', 'stopping'] }, reasons: list({ type: 'string' }) }),
    ),
  }),
  '/metrics': page('metrics', 'Numbers for Prometheus', {
    200: { description: 'Text exposition format.', content: { 'text/plain': { schema: { type: 'string' } } } },
  }),
  '/openapi.json': page('openapi', 'This document', { 200: json('OpenAPI 3.1.', { type: 'object' }) }),
};
