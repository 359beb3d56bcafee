import { list, object, type Schema, type Schemas, text } from './schema.ts';

const content = (description: string, type: string, schema: Schema): Schema => ({
  description,
  content: { [type]: { schema } },
});
const json = (description: string, schema: Schema): Schema => content(description, 'application/json', schema);
const page = (operationId: string, summary: string, responses: Schemas): Schema => ({
  get: { operationId, tags: ['Operations'], summary, security: [], responses },
});

const AWAY = object({ status: { type: 'string', enum: ['starting', 'stopping'] }, reasons: list({ type: 'string' }) });

/** Paths outside `/api/v1`: no key, nothing of any tenant. */
export const OPERATION_PATHS: Schemas = {
  '/': page('about', 'About this service, with links', {
    200: content('A page for people.', 'text/html', { type: 'string' }),
  }),
  '/livez': page('livez', 'The process runs', { 200: json('The process runs.', object({ status: text('`live`') })) }),
  '/readyz': page('readyz', 'The service can serve', {
    200: json('The service is ready.', object({ status: text('`ready`') })),
    503: json('The service is starting or stopping.', AWAY),
  }),
  '/metrics': page('metrics', 'Metrics for Prometheus', {
    200: content('Text exposition format.', 'text/plain', { type: 'string' }),
  }),
  '/openapi.json': page('openapi', 'This document', { 200: json('OpenAPI 3.1.', { type: 'object' }) }),
};
