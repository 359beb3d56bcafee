/** Routes of the earlier service. Responses have each field under both SDKs' names. */
import type { CollectionDetail } from '../../../contracts/actions/collections.ts';
import type { VerifyResult } from '../../../contracts/actions/verification.ts';
import { recordBytes, vectorBytes } from '../../../lib/admission/answer-size.ts';
import { bodyFetchWidth, deleteWidth, headsWidth, recordsWidth } from '../overload/queues.ts';
import { matchesJson, vectorsJson } from '../responses/json-pieces.ts';
import { bodyParams, collectionParams, routesBelow, VERIFY_TIMEOUT_MS } from '../route.ts';
import './bodies.ts';
import type { RECALL_BODIES } from './bodies.ts';
import { RECALL } from './dialect.ts';

const route = routesBelow<typeof RECALL_BODIES>(RECALL);
const COLLECTION = '/collections/{name}';
const snakeOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
/** Adds each field under its Python name next to its JavaScript name. */
const inBothStyles = (fields: object): object =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => [
      [name, value],
      [snakeOf(name), value],
    ]),
  );

/** `localRoot` is the root of the stored records, `onChainRoot` the anchored one. */
const verdictOf = ({ verified, match, computedRoot, onChainRoot, vectorCount, checkedAt, ...rest }: VerifyResult) =>
  inBothStyles({
    verified,
    match,
    localRoot: computedRoot,
    onChainRoot: onChainRoot ?? '',
    vectorCount,
    solanaExplorerUrl: rest.ledgerExplorerUrl ?? '',
    timestamp: Date.parse(checkedAt),
    state: rest.state,
  });

const rootOf = ({ merkleRoot, ledgerTx }: { merkleRoot: string; ledgerTx: string | null }) => ({
  merkleRoot,
  solanaTx: ledgerTx ?? '',
});

function inspectionOf({ dimensions, vector_count: totalMemories, merkleRoot, anchor }: CollectionDetail) {
  const confirmedAt = anchor.confirmedAt === null ? 0 : Date.parse(anchor.confirmedAt);
  const stats = inBothStyles({
    totalMemories,
    dimensions,
    currentMerkleRoot: merkleRoot,
    onChainRoot: anchor.merkleRoot ?? '',
    rootsMatch: anchor.merkleRoot === merkleRoot,
    lastWriteAt: 0,
    lastChainSyncAt: confirmedAt,
    hnswLayerCount: 1,
    memoryUsageBytes: totalMemories * dimensions * Float32Array.BYTES_PER_ELEMENT,
    encrypted: false,
  });
  return { stats, ...inBothStyles({ totalMatching: totalMemories }) };
}

export const RECALL_ROUTES = [
  route('POST', '/collections', 'collections.create', 'manage', {
    body: 'createCollection',
    status: 201,
    params: ({ accountId, body }) => ({ ...body, accountId }),
    answer: (collection) => ({ collection }),
  }),
  route('POST', `${COLLECTION}/upsert`, 'collections.upsert', 'write', {
    mayBeAway: true,
    queue: 'write',
    body: 'recall/upsert',
    async perform(input, call) {
      if (input.body.records.ids.length > 0) return call('collections.upsert', bodyParams(input));
      const { merkleRoot } = await call('collections.get', collectionParams(input));
      return { upsertedCount: 0, merkleRoot, ledgerTx: null };
    },
    answer: ({ upsertedCount, ...rest }) => inBothStyles({ upsertedCount, ...rootOf(rest) }),
  }),
  route('POST', `${COLLECTION}/query`, 'collections.query', 'read', {
    mayBeAway: true,
    queue: 'query',
    width: (shards, body) => recordsWidth(shards, body?.topK),
    body: 'recall/query',
    params: bodyParams,
    answer: ({ matches }) => matchesJson(matches),
    expectedBytes: ({ body }, dimensions) => (body.includeValues ? vectorBytes(body.topK, dimensions) : 0),
    metadataMax: ({ body }) => (body.includeMetadata ? body.topK : 0),
    heldBytes: ({ matches }) => recordBytes(matches),
    countedQueries: () => 1,
  }),
  route('POST', `${COLLECTION}/fetch`, 'collections.fetch', 'read', {
    mayBeAway: true,
    width: bodyFetchWidth,
    body: 'fetch',
    params: bodyParams,
    answer: (records) => vectorsJson(records.map((record) => ({ ...record, score: 1 }))),
    expectedBytes: ({ body }, dimensions) => vectorBytes(body.ids.length, dimensions),
    metadataMax: ({ body }) => body.ids.length,
    heldBytes: recordBytes,
  }),
  route('POST', `${COLLECTION}/delete`, 'collections.delete', 'write', {
    mayBeAway: true,
    queue: 'perAccount',
    width: deleteWidth,
    body: 'delete',
    params: bodyParams,
    answer: ({ deletedCount, ...rest }) => inBothStyles({ deletedCount, ...rootOf(rest) }),
  }),
  route('GET', `${COLLECTION}/verify`, 'verification.verify', 'read', {
    queue: 'verify',
    timeoutMs: VERIFY_TIMEOUT_MS,
    params: collectionParams,
    answer: verdictOf,
  }),
  route('GET', `${COLLECTION}/inspect`, 'collections.get', 'read', {
    needsCollection: true,
    width: headsWidth,
    query: ['limit', 'offset'],
    params: collectionParams,
    answer: inspectionOf,
  }),
];
