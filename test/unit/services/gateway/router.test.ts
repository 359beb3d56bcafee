import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { PINECONE_ROUTES } from '../../../../services/gateway/pinecone/routes.ts';
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
  const events = {
    onRoute: () => {},
    onNone: () => seen.push('none'),
    onError: () => {},
    requestId: () => 'r',
  };
  const router = new Router([...routesOf(true), ...PINECONE_ROUTES], events);
  const aliases = Array.from({ length: 60 }, () => ({ method: 'GET', match: () => false as const }));
  router.attach({ aliases, httpHandler: ({ url }: IncomingMessage) => seen.push(url!) });
  return { router, seen };
}

test('a path with more segments than any route is not decoded: each would cost an exception', () => {
  const { router, seen } = routerOf();
  const path = `/pinecone${'/%ff'.repeat(260_000)}`;
  expect(router.methodsOf(path)).toBeNull();
  router.handle({} as IncomingMessage, {} as ServerResponse, path);
  expect([decoded, seen]).toEqual([0, ['none']]);
});

test('any other path is decoded once, not for each route', () => {
  const { router, seen } = routerOf();
  const path = '/pinecone/indexes/%ff/namespaces/%C3%BC';
  expect(router.methodsOf(path)).toBeNull();
  expect(decoded).toBe(6);
  router.handle({} as IncomingMessage, {} as ServerResponse, path);
  expect(seen).toEqual([expect.stringMatching(/^\/pinecone\/indexes\/(?!%ff).+\/namespaces\/%C3%BC$/)]);
});

test('the longest path of a route is routed, even with a trailing slash', () => {
  const { router, seen } = routerOf();
  const longest = '/pinecone/indexes/x/namespaces/y/';
  router.handle({} as IncomingMessage, {} as ServerResponse, longest);
  expect(seen).toEqual([longest]);
});
