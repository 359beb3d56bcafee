import type { Example } from './example.ts';

/** Examples of the pages outside `/api/v1`. */
export const PAGES: readonly Example[] = [
  { operation: 'about', summary: 'For people', answer: '<h1>Provec</h1>' },
  { operation: 'livez', summary: 'Alive', answer: { status: 'live' } },
  { operation: 'readyz', summary: 'Ready', answer: { status: 'ready' } },
  { operation: 'metrics', summary: 'A counter', answer: '# TYPE provec_http_requests_total counter\n' },
  {
    operation: 'openapi',
    summary: 'The beginning',
    answer: { openapi: '3.1.0', info: { title: 'Provec', version: 'v1' } },
    isExcerpt: true,
  },
];
