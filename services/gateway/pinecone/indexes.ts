/** Routes of indexes. An index is the collection with the same name. */
import type { CollectionView } from '../../../lib/actions/collections.ts';
import { readPlace, readTags } from '../../../lib/requests/tags.ts';
import type { CollectionRow } from '../../../lib/store/catalog.ts';
import { headsWidth, LIST_WIDTH } from '../overload/queues.ts';
import { named, type RouteCall, type RouteInput } from '../route.ts';
import { pineconeMetric } from './metric.ts';
import { INDEX, route } from './route.ts';
import { PINECONE } from './surface.ts';

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

/** Pinecone's clients list indexes without paging, so this reads all pages for them. */
async function allIndexes({ accountId }: RouteInput, call: RouteCall): Promise<CollectionView[]> {
  const all: CollectionView[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = { isUncounted: true, ...(cursor !== undefined && { cursor }) };
    const { collections, nextCursor } = await call('collections.list', { accountId, ...page });
    all.push(...collections);
    if (nextCursor === undefined) return all;
    cursor = nextCursor;
  }
}

export const INDEX_ROUTES = [
  route('POST', '/indexes', 'collections.create', 'manage', {
    body: 'pineconeCreate',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: modelOf,
  }),
  route('GET', '/indexes', 'collections.list', 'read', {
    width: () => LIST_WIDTH,
    perform: (input, call) => allIndexes(input, call),
    answer: (collections, input) => ({ indexes: collections.map((each) => modelOf(each, input)) }),
  }),
  route('GET', INDEX, 'collections.resolve', 'read', { params: named, answer: modelOf }),
  route('PATCH', INDEX, 'collections.update', 'manage', {
    width: headsWidth,
    body: 'pineconeConfigure',
    params: (input) => ({ ...named(input), ...input.body }),
    answer: modelOf,
  }),
  route('DELETE', INDEX, 'collections.remove', 'manage', {
    queue: 'unshared',
    status: 202,
    params: named,
    answer: () => null,
  }),
];
