/** Routes of an index's vectors, which are the collection's records. */

import type { QueryResult } from '../../../contracts/actions/collections.ts';
import { requestsOf } from '../../../contracts/requests/requests.ts';
import { recordBytes, vectorBytes } from '../../../lib/admission/answer-size.ts';
import { isProvecError, notFound } from '../../../lib/errors.ts';
import { decodeIds } from '../../../lib/records/ids.ts';
import { deleteWidth, fetchWidth, recordsWidth, updateWidth } from '../overload/queues.ts';
import { updateForKey } from '../record-update.ts';
import { matchesJson, vectorsJson } from '../responses/json-pieces.ts';
import { bodyParams, type RouteCall, type RouteInput, requiredCollection } from '../route.ts';
import { matchOf, recordOf } from './answers.ts';
import { namespaceOf } from './namespace.ts';
import { countParams, INDEX, type Input, pagination, paramsWith, READ_USAGE, route } from './route.ts';

/** Runs a query. An unknown id or namespace matches nothing. */
async function search(input: Input<'pinecone/query'>, call: RouteCall): Promise<QueryResult & { isCounted: boolean }> {
  const { body } = input;
  // A zero vector has the same cosine score with every record, and the index, which searches by
  // direction, cannot find it. An exact search can.
  const exact = requiredCollection(input).metric === 'cosine' && body.vector?.every((component) => component === 0);
  try {
    const params = exact ? paramsWith(input, { ...body, exact }) : bodyParams(input);
    return { ...(await call('collections.query', params)), isCounted: true };
  } catch (error) {
    if (isProvecError(error) && error.code === 'RECORD_NOT_FOUND') return { matches: [], isCounted: false };
    throw error;
  }
}

/** Deletes vectors. Throws NAMESPACE_NOT_FOUND if the namespace has no record. */
async function deleteVectors(input: Input<'pinecone/delete'>, call: RouteCall) {
  const { namespace } = input.body;
  const result = await call('collections.delete', { ...bodyParams(input), isAnchorAwaited: false });
  if (result.deletedCount > 0 || namespace === '') return result;
  const { count } = await call('collections.count', countParams(input, namespace));
  if (count === 0) throw notFound('NAMESPACE_NOT_FOUND');
  return result;
}

const idsIn = ({ search: text }: Pick<RouteInput, 'search'>) => new URLSearchParams(text).getAll('ids');

function fetched(input: RouteInput) {
  const { limits, query } = input;
  const ids = decodeIds(idsIn(input), 'ids', limits);
  return requestsOf(limits).fetch.decode({ ids, namespace: namespaceOf(query.get('namespace')) });
}

function listed({ limits, query }: RouteInput) {
  const [prefix, limit, cursor] = ['prefix', 'limit', 'paginationToken'].map((name) => query.get(name) || undefined);
  return requestsOf(limits).list.decode({
    prefix,
    limit: limit === undefined ? undefined : Number(limit),
    cursor,
    namespace: namespaceOf(query.get('namespace')),
  });
}

const namespaceIn = ({ query }: RouteInput) => ({ namespace: query.get('namespace') ?? '' });

export const VECTOR_ROUTES = [
  route('POST', `${INDEX}/query`, 'collections.query', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) => recordsWidth(shards, body?.topK),
    body: 'pinecone/query',
    perform: search,
    answer: ({ matches }, { body: { namespace } }) => matchesJson(matches.map(matchOf), { namespace, ...READ_USAGE }),
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.topK, dimensions) : 0),
    metadataMax: ({ body }) => (body.includeMetadata ? body.topK : 0),
    heldBytes: ({ matches }) => recordBytes(matches),
    countedQueries: ({ isCounted }) => Number(isCounted),
  }),
  route('POST', `${INDEX}/vectors/upsert`, 'collections.upsert', 'write', {
    mayBeAway: true,
    queue: 'write',
    body: 'pinecone/upsert',
    params: (input) => ({ ...bodyParams(input), isAnchorAwaited: false }),
    answer: ({ upsertedCount }) => ({ upsertedCount }),
  }),
  route('GET', `${INDEX}/vectors/fetch`, 'collections.fetch', 'read', {
    mayBeAway: true,
    needsCollection: true,
    width: (_shards, _body, asked) => fetchWidth(idsIn(asked).length),
    query: ['ids', 'namespace'],
    params: (input) => paramsWith(input, fetched(input)),
    answer: (records, input) => vectorsJson(records.map(recordOf), { ...namespaceIn(input), ...READ_USAGE }),
    expectedBytes: (input, dimensions) => vectorBytes(fetched(input).ids.length, dimensions),
    metadataMax: (input) => fetched(input).ids.length,
    heldBytes: recordBytes,
  }),
  route('POST', `${INDEX}/vectors/fetch_by_metadata`, 'collections.listRecords', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) => recordsWidth(shards, body?.limit),
    body: 'pinecone/fetch',
    params: bodyParams,
    answer: ({ records, nextCursor }, { body: { namespace } }) =>
      vectorsJson(records.map(recordOf), { namespace, ...pagination(nextCursor), ...READ_USAGE }),
    expectedBytes: ({ body }, dimensions) => vectorBytes(body.limit, dimensions),
    metadataMax: ({ body }) => (body.includeMetadata ? body.limit : 0),
    heldBytes: ({ records }) => recordBytes(records),
  }),
  route('GET', `${INDEX}/vectors/list`, 'collections.listRecords', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, _body, { query }) => recordsWidth(shards, Number(query.get('limit')) || 0),
    query: ['prefix', 'limit', 'paginationToken', 'namespace'],
    params: (input) => paramsWith(input, listed(input)),
    answer: ({ records, nextCursor }, input) => ({
      vectors: records.map(({ id }) => ({ id })),
      ...pagination(nextCursor),
      ...namespaceIn(input),
      ...READ_USAGE,
    }),
  }),
  route('POST', `${INDEX}/vectors/delete`, 'collections.delete', 'write', {
    mayBeAway: true,
    queue: 'perAccount',
    width: deleteWidth,
    body: 'pinecone/delete',
    perform: deleteVectors,
    answer: () => ({}),
  }),
  route('POST', `${INDEX}/vectors/update`, 'collections.updateRecords', 'write', {
    mayBeAway: true,
    queue: 'write',
    width: updateWidth,
    body: 'pinecone/update',
    perform: (input, call) => updateForKey(input, call, { ...bodyParams(input), isAnchorAwaited: false }),
    answer: ({ matchedCount }, { body: { filter } }) => (filter === undefined ? {} : { matchedRecords: matchedCount }),
  }),
];
