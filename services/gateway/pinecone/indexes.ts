/** Routes of indexes. An index is the collection with the same name. */
import type { CollectionsPage, CollectionView } from '../../../contracts/actions/collections.ts';
import { readPlace, readTags } from '../../../contracts/requests/tags.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { headsWidth, LIST_WIDTH } from '../overload/queues.ts';
import { PagedResponse, type PageSource, SENT_IN_PAGES } from '../responses/paged-response.ts';
import { collectionParams, type RouteCall, type RouteInput } from '../route.ts';
import { PINECONE } from './dialect.ts';
import { pineconeMetric } from './metric.ts';
import { INDEX, route } from './route.ts';

const PLACE = { cloud: 'provec', region: 'self-hosted' };
const READ_CAPACITY = { mode: 'OnDemand', status: { state: 'Ready' } };

/** Collection as an action returns it, or its row. */
type Described = CollectionView | CollectionRow;

/** Returns the tags and place; a row stores both in one text. */
const notesOf = (described: Described): Pick<CollectionView, 'tags' | 'place'> =>
  'accountId' in described ? { tags: readTags(described.tags), place: readPlace(described.tags) } : described;

/**
 * Returns the model of an index, with the fields that any version of the clients reads. For an
 * index that was requested by alias, the host contains the alias: clients keep the host, and so
 * follow when the alias is switched.
 */
function modelOf(described: Described, { origin, target }: Pick<RouteInput, 'origin' | 'target'>) {
  const { name, dimensions, metric, deletionProtection } = described;
  const { tags, place: named } = notesOf(described);
  const place = { ...PLACE, ...named };
  const field = { dimension: dimensions, metric: pineconeMetric(metric) };
  return {
    name,
    host: `${origin}${PINECONE.base}/indexes/${encodeURIComponent(target || name)}`,
    status: { ready: true, state: 'Ready' },
    deletion_protection: deletionProtection ? 'enabled' : 'disabled',
    ...(tags !== undefined && { tags }),
    ...field,
    vector_type: 'dense',
    spec: { serverless: { ...place, read_capacity: READ_CAPACITY } },
    deployment: { deployment_type: 'managed', ...place },
    schema: { fields: { _values: { type: 'dense_vector', ...field } } },
    read_capacity: READ_CAPACITY,
  };
}

/** Maximum size of one collection in a page, in bytes of memory. */
const COLLECTION_MAX_BYTES = 4_096;

/** Begins the list of indexes: Pinecone's clients ask for no pages. Throws the action's errors. */
async function beginList(input: RouteInput, call: RouteCall): Promise<PagedResponse<CollectionsPage>> {
  const { accountId } = input;
  const source: PageSource<CollectionsPage> = {
    read: (caller, cursor) =>
      caller('collections.list', { accountId, isUncounted: true, ...(cursor !== undefined && { cursor }) }),
    opening: '{"indexes":[',
    *members({ collections }) {
      for (const each of collections) yield JSON.stringify(modelOf(each, input));
    },
    closing: () => ']}',
    bytesOf: ({ collections }) =>
      Math.min(collections.length * COLLECTION_MAX_BYTES, INTERNAL_LIMITS.collectionsPageMaxBytes),
  };
  return new PagedResponse(source, await source.read(call));
}

export const INDEX_ROUTES = [
  route('POST', '/indexes', 'collections.create', 'manage', {
    body: 'pinecone/create',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: modelOf,
  }),
  route('GET', '/indexes', 'collections.list', 'read', {
    width: () => LIST_WIDTH,
    perform: beginList,
    ...SENT_IN_PAGES,
  }),
  route('GET', INDEX, 'collections.resolve', 'read', { params: collectionParams, answer: modelOf }),
  route('PATCH', INDEX, 'collections.update', 'manage', {
    width: headsWidth,
    body: 'pinecone/configure',
    params: (input) => ({ ...collectionParams(input), ...input.body }),
    answer: modelOf,
  }),
  route('DELETE', INDEX, 'collections.remove', 'manage', {
    queue: 'perAccount',
    status: 202,
    params: collectionParams,
    answer: () => null,
  }),
];
