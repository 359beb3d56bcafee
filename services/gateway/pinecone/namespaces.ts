/** Routes of an index's namespaces and statistics. */
import type { NamespacesPage } from '../../../contracts/actions/collections.ts';
import { notFound } from '../../../lib/errors.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import { decodeNamespace } from '../../../lib/records/ids.ts';
import { namesWidth, scanWidth } from '../overload/queues.ts';
import { SENT_IN_PAGES } from '../responses/paged-response.ts';
import { bodyParams, collectionParams, type RouteCall, type RouteInput, UNDECODABLE } from '../route.ts';
import { namespaceOf, pineconeNamespace } from './namespace.ts';
import { countParams, INDEX, pagination, route } from './route.ts';
import { beginStatistics } from './statistics.ts';

type Namespace = NamespacesPage['namespaces'][number];

/** Counts the namespaces whose name begins with `prefix`, starting at a cursor. */
async function countNamespaces(input: RouteInput, call: RouteCall, prefix: string, from: string): Promise<number> {
  let count = 0;
  for (let cursor: string | undefined = from; cursor !== undefined; ) {
    const asking = { ...collectionParams(input), prefix, limit: input.limits.namespacesPageMax, cursor };
    const page: NamespacesPage = await call('collections.namespaces', asking);
    count += page.namespaces.length;
    cursor = page.nextCursor;
  }
  return count;
}

/** Returns the namespace in the path. Throws INVALID_ARGUMENT for an invalid name. */
function itemOf({ item, limits }: RouteInput): string {
  if (item === UNDECODABLE)
    throw invalidValue('namespace', 'percent-encoded UTF-8 without U+0000', 'bytes that are not');
  return decodeNamespace(namespaceOf(item), 'namespace', limits);
}

const viewOf = ({ name, vectorCount }: Namespace) => ({
  name: pineconeNamespace(name),
  record_count: String(vectorCount),
});

/** Returns the page size, or nothing if the client did not give one. */
function limitOf({ limits, query }: RouteInput): { limit?: number } {
  const given = query.get('limit') || undefined;
  const limit = Number(given);
  if (given === undefined) return {};
  if (Number.isInteger(limit) && limit >= 1 && limit <= limits.namespacesPageMax) return { limit };
  throw invalidValue('limit', `a whole number from 1 to ${limits.namespacesPageMax}`, 'something else');
}

/**
 * Splits the page token. It carries the total counted for the first page, because counting walks
 * through all namespaces and must not be repeated for each page.
 */
function continuation(token: string | undefined): { counted?: number; cursor?: string } {
  const [, total, cursor] = /^(\d{1,15})\.(.+)$/s.exec(token ?? '') ?? [];
  return total === undefined ? { cursor: token } : { counted: Number(total), cursor };
}

export const NAMESPACE_ROUTES = [
  route('GET', `${INDEX}/namespaces`, 'collections.namespaces', 'read', {
    mayBeAway: true,
    needsCollection: true,
    queue: 'query',
    width: namesWidth,
    query: ['prefix', 'limit', 'paginationToken'],
    async perform(input, call) {
      const { limits, query } = input;
      const prefix = decodeNamespace(query.get('prefix') ?? '', 'prefix', limits);
      const { counted, cursor } = continuation(query.get('paginationToken') || undefined);
      const page = await call('collections.namespaces', {
        ...collectionParams(input),
        prefix,
        cursor,
        ...limitOf(input),
      });
      if (counted !== undefined) return { ...page, total: counted };
      const rest = page.nextCursor === undefined ? 0 : await countNamespaces(input, call, prefix, page.nextCursor);
      return { ...page, total: page.namespaces.length + rest };
    },
    answer: ({ namespaces, nextCursor, total }) => ({
      namespaces: namespaces.map(viewOf),
      total_count: total,
      ...pagination(nextCursor && `${total}.${nextCursor}`),
    }),
  }),
  // A namespace exists while it has records, so creating one does nothing.
  route('POST', `${INDEX}/namespaces`, 'collections.count', 'read', {
    mayBeAway: true,
    queue: 'query',
    body: 'pinecone/namespace',
    params: bodyParams,
    answer: ({ count }, { body: { namespace } }) => viewOf({ name: namespace, vectorCount: count }),
  }),
  route('GET', `${INDEX}/namespaces/{namespace}`, 'collections.count', 'read', {
    mayBeAway: true,
    queue: 'query',
    async perform(input, call) {
      const result = await call('collections.count', countParams(input, itemOf(input)));
      if (result.count === 0) throw notFound('NAMESPACE_NOT_FOUND');
      return result;
    },
    answer: ({ count }, input) => viewOf({ name: itemOf(input), vectorCount: count }),
  }),
  route('DELETE', `${INDEX}/namespaces/{namespace}`, 'collections.deleteNamespace', 'write', {
    mayBeAway: true,
    needsCollection: true,
    queue: 'perAccount',
    width: scanWidth,
    params: (input) => ({ ...collectionParams(input), namespace: itemOf(input), isAnchorAwaited: false }),
    answer: () => ({}),
  }),
  ...(['POST', 'GET'] as const).map((method) =>
    route(method, `${INDEX}/describe_index_stats`, 'collections.namespaces', 'read', {
      mayBeAway: true,
      queue: 'query',
      width: namesWidth,
      needsCollection: true,
      ...(method === 'POST' && { body: 'pinecone/stats' }),
      perform: beginStatistics,
      ...SENT_IN_PAGES,
    }),
  ),
];
