/** Routes of indexes. An index is the collection with the same name. */
import type { CollectionsPage, CollectionView } from '../../../contracts/actions/collections.ts';
import { readPlace, readTags } from '../../../contracts/requests/tags.ts';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import type { CollectionRow } from '../../../store/catalog.ts';
import { headsWidth, LIST_WIDTH } from '../overload/queues.ts';
import type { Pieces } from '../responses/json-pieces.ts';
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

/**
 * The list of indexes, sent page by page as the collections are read: Pinecone's clients ask for no
 * pages, and the gateway holds one.
 */
class IndexList {
  readonly #input: RouteInput;
  #page: CollectionsPage;
  #separator = '{"indexes":[';

  private constructor(input: RouteInput, page: CollectionsPage) {
    this.#input = input;
    this.#page = page;
  }

  /** Throws as the action does. */
  static async begin(input: RouteInput, call: RouteCall): Promise<IndexList> {
    return new IndexList(input, await readPage(input, call));
  }

  /** Memory that the page takes. */
  get heldBytes(): number {
    const { length } = this.#page.collections;
    return Math.min(length * COLLECTION_MAX_BYTES, INTERNAL_LIMITS.collectionsPageMaxBytes);
  }

  /** The part of the answer that the page is; with the last one, the end. */
  part(): Pieces {
    const list = this;
    return function* write(json) {
      const { collections, nextCursor } = list.#page;
      for (const each of collections) {
        json.text(list.#separator + JSON.stringify(modelOf(each, list.#input)));
        list.#separator = ',';
        yield;
      }
      if (nextCursor === undefined) json.text(list.#separator === ',' ? ']}' : `${list.#separator}]}`);
    };
  }

  /** The part that follows; null after the last one. Throws as the action does. */
  async next(call: RouteCall): Promise<Pieces | null> {
    const { nextCursor } = this.#page;
    if (nextCursor === undefined) return null;
    this.#page = await readPage(this.#input, call, nextCursor);
    return this.part();
  }
}

function readPage({ accountId }: RouteInput, call: RouteCall, cursor?: string): Promise<CollectionsPage> {
  return call('collections.list', { accountId, isUncounted: true, ...(cursor !== undefined && { cursor }) });
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
    perform: (input, call) => IndexList.begin(input, call),
    answer: (list) => list.part(),
    more: (list, call) => list.next(call),
    heldBytes: (list) => list.heldBytes,
  }),
  route('GET', INDEX, 'collections.resolve', 'read', { params: collectionParams, answer: modelOf }),
  route('PATCH', INDEX, 'collections.update', 'manage', {
    width: headsWidth,
    body: 'pineconeConfigure',
    params: (input) => ({ ...collectionParams(input), ...input.body }),
    answer: modelOf,
  }),
  route('DELETE', INDEX, 'collections.remove', 'manage', {
    queue: 'unshared',
    status: 202,
    params: collectionParams,
    answer: () => null,
  }),
];
