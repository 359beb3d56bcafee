/** The routes of `/api/v1` that tools call. */
import assert from 'node:assert/strict';
import type { ActionName } from '../../../contracts/actions/call.ts';
import type { Route } from '../route.ts';
import { routesOf } from '../routes.ts';

/** A route with the type of its action. */
export type RestRoute<N extends ActionName> = Route & { action: N };

const ROUTES = routesOf(false);

function restRoute<N extends ActionName>(method: Route['method'], path: string, action: N): RestRoute<N> {
  const found = ROUTES.find((route) => route.method === method && route.path === path);
  assert(found?.action === action, `${method} ${path} does not call ${action}`);
  return found as RestRoute<N>;
}

export const REST = {
  collections: restRoute('GET', '/collections', 'collections.list'),
  count: restRoute('POST', '/collections/{name}/count', 'collections.count'),
  delete: restRoute('POST', '/collections/{name}/delete', 'collections.delete'),
  fetch: restRoute('POST', '/collections/{name}/fetch', 'collections.fetch'),
  list: restRoute('POST', '/collections/{name}/list', 'collections.listRecords'),
  proof: restRoute('GET', '/collections/{name}/proof', 'collections.proof'),
  query: restRoute('POST', '/collections/{name}/query', 'collections.query'),
  update: restRoute('POST', '/collections/{name}/update', 'collections.updateRecords'),
  upsert: restRoute('POST', '/collections/{name}/upsert', 'collections.upsert'),
} as const;
