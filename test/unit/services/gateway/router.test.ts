import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LIMITS } from '../../../../lib/limits.ts';
import { PINECONE_ROUTES } from '../../../../services/gateway/pinecone/routes.ts';
import { RequestContext } from '../../../../services/gateway/request-context.ts';
import { Router } from '../../../../services/gateway/router.ts';
import { routesOf } from '../../../../services/gateway/routes.ts';

const { decodeURIComponent: decode } = globalThis;
let decoded = 0;
beforeEach(() => {
  decoded = 0;
  globalThis.decodeURIComponent = (text) => {
    decoded++;
    return decode(text);
  };
});
afterEach(() => {
  globalThis.decodeURIComponent = decode;
});

/** The arguments that moleculer-web would be called with for each of 60 routes. */
function routerOf() {
  const seen: string[] = [];
  const router = new Router([...routesOf(true), ...PINECONE_ROUTES], () => {});
  const aliases = Array.from({ length: 60 }, () => ({ method: 'GET', match: () => false as const }));
  const rest = ({ req }: { req: IncomingMessage }) => seen.push(req.url!);
  router.attach({ aliases, actions: { rest } });
  const parts = { config: { limits: LIMITS, publicUrl: null, tlsCert: null }, dialects: [] };
  const handle = (path: string) =>
    router.route(
      new RequestContext({ url: path, headers: {} } as IncomingMessage, {} as ServerResponse, 0, false, parts),
    );
  return { router, handle, seen };
}

test('a path with more segments than any route is not decoded: each would cost an exception', async () => {
  const { router, handle, seen } = routerOf();
  const path = `/pinecone${'/%ff'.repeat(260_000)}`;
  expect(router.methodsOf(path)).toBeNull();
  expect(await handle(path)).toBe(false);
  expect([decoded, seen]).toEqual([0, []]);
});

test('any other path is decoded once, not for each route', async () => {
  const { router, handle, seen } = routerOf();
  const path = '/pinecone/indexes/%ff/namespaces/%C3%BC';
  expect(router.methodsOf(path)).toBeNull();
  expect(decoded).toBe(6);
  await handle(path);
  expect(seen).toEqual([expect.stringMatching(/^\/pinecone\/indexes\/(?!%ff).+\/namespaces\/%C3%BC$/)]);
});

test('the longest path of a route is routed, even with a trailing slash', async () => {
  const { handle, seen } = routerOf();
  const longest = '/pinecone/indexes/x/namespaces/y/';
  await handle(longest);
  expect(seen).toEqual([longest]);
});
