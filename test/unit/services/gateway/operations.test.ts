import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Gauge } from 'prom-client';
import { requestsOf } from '../../../../contracts/requests/requests.ts';
import { ERROR_TABLE } from '../../../../lib/errors.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import type { Readiness } from '../../../../mixins/health/health-pages.ts';
import { Metrics } from '../../../../mixins/metrics.ts';
import { requestNameOf } from '../../../../services/gateway/bodies/decoders.ts';
import { openApiDocument } from '../../../../services/gateway/openapi/document.ts';
import { routesOf } from '../../../../services/gateway/routes.ts';
import { until } from '../../../support/until.ts';
import { ADMIN_TOKEN, type Edge, KEY, startEdge } from './harness.ts';

const V1 = '/api/v1';

describe('health', () => {
  test('livez and readyz need no key; readyz gives its reasons to the operator only', async () => {
    let answer: Readiness = { status: 'unavailable', reasons: ['log.db has the trigger hidden'] };
    const edge = await startEdge({ readiness: async () => answer, env: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN } });
    try {
      const page = (path: string) => edge.request('GET', path, undefined, { authorization: '' });
      expect((await page('/livez')).json).toEqual({ status: 'live' });
      const away = await page('/readyz');
      expect([away.status, away.json]).toEqual([503, { status: 'unavailable' }]);
      const authorization = `Bearer ${ADMIN_TOKEN}`;
      expect((await edge.request('GET', '/readyz', undefined, { authorization })).json).toEqual(answer);
      expect((await edge.request('GET', '/readyz')).json).toEqual({ status: 'unavailable' });
      expect((await page('/')).text).toContain('<strong id="state">unavailable</strong>');
      await page('/livez');
      await page('/metrics');
      const probes = await until('all are logged', () => {
        const lines = edge.log.flatMap((line) => (line.includes('"request"') ? [JSON.parse(line)] : []));
        return lines.length >= 7 && lines;
      });
      // Pino's debug level: repeated probes of a process that is not ready yet must not fill the
      // log.
      expect(probes.map(({ route, status, level }) => [route, status, level])).toEqual([
        ['/livez', 200, 20],
        ['/readyz', 503, 20],
        ['/readyz', 503, 20],
        ['/readyz', 503, 20],
        ['/', 200, 20],
        ['/livez', 200, 20],
        ['/metrics', 200, 20],
      ]);
      answer = { status: 'ready', reasons: [] };
      const ready = await page('/readyz');
      expect([ready.status, ready.json]).toEqual([200, { status: 'ready' }]);
      expect((await edge.request('POST', '/livez', {})).json.code).toBe('METHOD_NOT_ALLOWED');
    } finally {
      await edge.stop();
    }
  });

  test('unavailable metrics are a failure, and logged as one', async () => {
    const metrics = new Metrics();
    const collect = () => {
      throw new Error('no numbers');
    };
    metrics.registry.registerMetric(new Gauge({ name: 'broken', help: 'Broken.', registers: [], collect }));
    const edge = await startEdge({ metrics });
    try {
      expect((await edge.request('GET', '/metrics')).status).toBe(500);
      const line = await until('it is logged', () => edge.log.find((text) => text.includes('"request"')));
      expect(JSON.parse(line)).toMatchObject({ level: 40, route: '/metrics', status: 500 });
    } finally {
      await edge.stop();
    }
  });

  test('a failing readiness check is not ready, and does not say why', async () => {
    const edge = await startEdge({ readiness: () => Promise.reject(new Error('ledger at 10.0.0.7')) });
    try {
      const reply = await edge.request('GET', '/readyz');
      expect([reply.status, reply.text]).toEqual([503, '{"status":"unavailable"}']);
    } finally {
      await edge.stop();
    }
  });
});

describe('metrics and log', () => {
  const metrics = new Metrics();
  const stats = {
    open: 3,
    opening: 0,
    queuedRequests: 0,
    queuedBytes: 0,
    bytes: 77,
    records: 9,
    workers: 1,
    reopening: 2,
  };
  let edge: Edge;
  beforeAll(async () => {
    edge = await startEdge({
      metrics,
      broker: { middlewares: [metrics.middleware] },
      actions: {
        'shards.stats': () => stats,
        'collections.list': () => {
          throw new TypeError('broken by private-text');
        },
      },
    });
    await edge.request('POST', `${V1}/collections/docs/query?x=private-query`, { vector: [1, 2, 3] });
    await edge.request('POST', `${V1}/collections/docs/query`, {
      vector: [0.123456, 2, 3],
      filter: { colour: 'private-colour' },
    });
    await edge.request(
      'POST',
      `${V1}/collections/docs/fetch`,
      { ids: ['private-id'] },
      { authorization: 'Bearer private-key' },
    );
    await edge.request('GET', `${V1}/collections/private-name`);
    await edge.request('GET', '/private-path');
    await edge.request('GET', `${V1}/collections`);
  });
  afterAll(() => edge.stop());

  test('requests by route pattern, actions, shards, process; no tenant data', async () => {
    const { headers, status, text } = await edge.request('GET', '/metrics');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain; version=0.0.4/);
    const route = `${V1}/collections/{name}/query`;
    expect(text).toContain(`provec_http_requests_total{route="${route}",method="POST",status="200"} 1`);
    expect(text).toContain(`provec_http_requests_total{route="${route}",method="POST",status="400"} 1`);
    expect(text).toContain('provec_http_requests_total{route="unmatched",method="GET",status="404"} 1');
    expect(text).toContain(`provec_http_request_duration_seconds_count{route="${route}",method="POST"} 2`);
    expect(text).toMatch(/provec_http_requests_in_flight 1$/m);
    expect(text).toContain('provec_action_duration_seconds_count{action="collections.query",outcome="ok"} 1');
    expect(text).toContain('outcome="UNAUTHENTICATED"');
    expect(text).toContain('outcome="TypeError"');
    expect(text).toMatch(/^provec_shards_open 3$/m);
    expect(text).toMatch(/^provec_shards_reopening 2$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    expect(text).toMatch(/^process_resident_memory_bytes /m);
    expect(text).not.toMatch(/private|docs|pv_live|a1|gateway\./);
  });

  test('a request to a missing service counts under its route', async () => {
    const own = new Metrics();
    const lone = await startEdge({ metrics: own, without: ['metering.usage'] });
    try {
      expect((await lone.request('GET', `${V1}/usage`)).status).toBe(503);
      const { text } = await lone.request('GET', '/metrics');
      expect(text).toContain(`provec_http_requests_total{route="${V1}/usage",method="GET",status="503"} 1`);
      expect(text).not.toContain('route="unmatched"');
    } finally {
      await lone.stop();
    }
  });

  test('one line per request, with its pattern and account; no body, query, path, key or vector', () => {
    const lines = edge.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const line = lines.find(
      ({ msg, route, status }) => msg === 'request' && String(route).endsWith('/query') && status === 200,
    );
    expect(line).toMatchObject({ level: 20, method: 'POST', route: `${V1}/collections/{name}/query`, account: 'a1' });
    expect(typeof line!.ms).toBe('number');
    expect(typeof line!.requestId).toBe('string');
    expect(edge.log.join('')).not.toMatch(new RegExp(`private-(?!text)|docs|0\\.123456|${KEY}`));
  });
});

describe('OpenAPI', () => {
  type Operation = {
    operationId: string;
    responses: Record<string, { content: { 'application/json': { schema: Record<string, unknown> } } }>;
    requestBody?: { content: { 'application/json': { schema: { $ref: string } } } };
  };
  type Document = {
    openapi: string;
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, { properties: Record<string, unknown>; required: string[] }> };
  };
  const document = openApiDocument({ limits: LIMITS, adminToken: ADMIN_TOKEN }) as Document;

  test('is served, and has exactly the existing routes', async () => {
    const edge = await startEdge({ env: { PROVEC_ADMIN_TOKEN: ADMIN_TOKEN } });
    try {
      expect((await edge.request('GET', '/openapi.json')).json).toEqual(JSON.parse(JSON.stringify(document)));
    } finally {
      await edge.stop();
    }
    const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const routed = routesOf(true).map((route) => `${route.method} ${V1}${route.path}`);
    const pages = ['GET /', 'GET /livez', 'GET /readyz', 'GET /metrics', 'GET /openapi.json'];
    expect(documented.sort()).toEqual([...routed, ...pages].sort());
    const withoutOperator = openApiDocument({ limits: LIMITS, adminToken: null });
    expect(JSON.stringify(withoutOperator)).not.toMatch(/\/admin|PROVEC_ADMIN_TOKEN/);
  });

  test('every reference resolves and every operation id is unique', () => {
    const text = JSON.stringify(document);
    for (const [, pointer] of text.matchAll(/"\$ref":"#\/([^"]+)"/g)) {
      const target = pointer!.split('/').reduce<unknown>((at, key) => (at as Record<string, unknown>)?.[key], document);
      expect([pointer, typeof target]).toEqual([pointer, 'object']);
    }
    const ids = Object.values(document.paths).flatMap((operations) =>
      Object.values(operations).map((one) => one.operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('request schemas have exactly the fields that the gateway accepts', () => {
    for (const route of routesOf(true)) {
      const operation = document.paths[V1 + route.path]![route.method.toLowerCase()]!;
      expect(operation.responses[String(route.status)]).toBeDefined();
      if (route.body === null) {
        expect(operation.requestBody).toBeUndefined();
        continue;
      }
      if (route.streams === 'request') {
        expect(Object.keys(operation.requestBody!.content)).toEqual(['application/x-ndjson']);
        continue;
      }
      const name = operation.requestBody!.content['application/json'].schema.$ref.split('/').at(-1)!;
      expect(Object.keys(document.components.schemas[name]!.properties).sort()).toEqual(
        [...requestsOf(LIMITS)[requestNameOf(route.body)].names].sort(),
      );
    }
  });

  test('every error of the table is documented', () => {
    const text = JSON.stringify(document);
    // Only routes of /pinecone return this code.
    const { NOT_IMPLEMENTED: _, ...ours } = ERROR_TABLE;
    for (const code of Object.keys(ours)) expect(text).toContain(`\`${code}\``);
  });
});
