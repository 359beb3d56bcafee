import {
  CONSISTENCIES,
  type CollectionQuery,
  type Consistency,
  type CreateCollection,
} from '../../../lib/actions/collections.ts';
import { describe } from '../../../lib/errors.ts';
import { parseFilter } from '../../../lib/filter/parse.ts';
import type { Limits } from '../../../lib/limits.ts';
import type { PlanName } from '../../../lib/plans.ts';
import type { RecordBatch } from '../../../lib/records/batch.ts';
import { decodeRecords } from '../../../lib/records/decode.ts';
import { invalid, type JsonObject, refuseUnknownFields } from '../../../lib/records/fields.ts';
import { decodeId, decodeIds } from '../../../lib/records/ids.ts';
import { decodeVector } from '../../../lib/records/vector.ts';
import type { Metric } from '../../../lib/store/catalog.ts';
import type { Scope } from '../../../lib/store/keys.ts';
import { parseJsonBody } from './json-body.ts';
import { EACH, type VectorPlace } from './lifted-vectors.ts';

/** What the edge makes of each kind of body. */
export interface Bodies {
  records: RecordBatch;
  query: CollectionQuery;
  fetch: { ids: string[]; consistency?: Consistency };
  ids: string[];
  /** The services check the values of these: the edge only knows their fields. */
  collection: CreateCollection;
  collectionChange: { deletionProtection: boolean };
  key: { name: string; scopes?: Scope[]; expires_at?: string | null };
  account: { name: string; plan: PlanName };
  plan: { plan: PlanName };
  /** Of operations that take none: an object without fields passes. */
  none: null;
}
export type BodyKind = keyof Bodies;

/** What a body is checked against; `shape` is the collection's, for the kinds that carry vectors. */
export interface BodyContext {
  limits: Limits;
  shape: { dimensions: number; metric: Metric } | null;
}

export const BODY_FIELDS: { readonly [K in BodyKind]: readonly string[] } = {
  records: ['records'],
  query: [
    'vector',
    'id',
    'topK',
    'filter',
    'includeValues',
    'includeMetadata',
    'scoreThreshold',
    'exact',
    'consistency',
    'allowPartial',
  ],
  fetch: ['ids', 'consistency'],
  ids: ['ids'],
  collection: ['name', 'dimensions', 'metric', 'shards', 'replicas', 'quantization', 'deletionProtection'],
  collectionChange: ['deletionProtection'],
  key: ['name', 'scopes', 'expires_at'],
  account: ['name', 'plan'],
  plan: ['plan'],
  none: [],
};

function shapeOf({ shape }: BodyContext): { dimensions: number; metric: Metric } {
  if (shape === null) throw new Error('a body with vectors needs the shape of its collection');
  return shape;
}

function decodeQuery(body: JsonObject, context: BodyContext): CollectionQuery {
  const { limits } = context;
  const { dimensions, metric } = shapeOf(context);
  const query: CollectionQuery = {};
  if ((body.vector === undefined) === (body.id === undefined)) {
    throw invalid('vector', 'given, or id instead (exactly one)', body.id === undefined ? 'missing' : 'given with id');
  }
  if (body.vector !== undefined) query.vector = decodeVector(body.vector, 'vector', dimensions, metric);
  if (body.id !== undefined) query.id = decodeId(body.id, 'id', limits);
  if (body.topK !== undefined) {
    const { topK } = body;
    if (!Number.isInteger(topK) || (topK as number) < 1 || (topK as number) > limits.topKMax) {
      throw invalid('topK', `a whole number from 1 to ${limits.topKMax}`, describe(topK));
    }
    query.topK = topK as number;
  }
  if (body.filter !== undefined) {
    parseFilter(body.filter, limits);
    query.filter = body.filter as JsonObject;
  }
  for (const flag of ['includeValues', 'includeMetadata', 'exact', 'allowPartial'] as const) {
    const value = body[flag];
    if (value === undefined) continue;
    if (typeof value !== 'boolean') throw invalid(flag, 'true or false', describe(value));
    query[flag] = value;
  }
  if (body.consistency !== undefined) query.consistency = decodeConsistency(body.consistency);
  if (body.scoreThreshold !== undefined) {
    if (!Number.isFinite(body.scoreThreshold)) {
      throw invalid('scoreThreshold', 'a finite number', describe(body.scoreThreshold));
    }
    query.scoreThreshold = body.scoreThreshold as number;
  }
  return query;
}

function decodeConsistency(value: unknown): Consistency {
  const known = CONSISTENCIES.find((consistency) => consistency === value);
  if (known === undefined) throw invalid('consistency', CONSISTENCIES.join(' or '), describe(value));
  return known;
}

const DECODERS: { readonly [K in BodyKind]: (body: JsonObject, context: BodyContext) => Bodies[K] } = {
  records: (body, context) => {
    const { dimensions, metric } = shapeOf(context);
    return decodeRecords(body.records, dimensions, context.limits, metric);
  },
  query: decodeQuery,
  fetch: (body, { limits }) => ({
    ids: decodeIds(body.ids, 'ids', limits),
    ...(body.consistency === undefined ? {} : { consistency: decodeConsistency(body.consistency) }),
  }),
  ids: (body, { limits }) => decodeIds(body.ids, 'ids', limits),
  collection: (body) => ({ ...body }) as unknown as CreateCollection,
  collectionChange: (body) => ({ ...body }) as unknown as Bodies['collectionChange'],
  key: (body) => ({ ...body }) as unknown as Bodies['key'],
  account: (body) => ({ ...body }) as unknown as Bodies['account'],
  plan: (body) => ({ ...body }) as unknown as Bodies['plan'],
  none: () => null,
};

function vectorPlace(kind: BodyKind, context: BodyContext): VectorPlace | null {
  if (kind === 'query') return { path: ['vector'], countMax: 1, dimensions: shapeOf(context).dimensions };
  if (kind !== 'records') return null;
  const { recordsPerUpsertMax: countMax } = context.limits;
  return { path: ['records', EACH, 'values'], countMax, dimensions: shapeOf(context).dimensions };
}

/** Parses and checks a body of one kind. Throws the ProvecError for the client. Runs on the main thread and in body workers alike. */
export function decodeBody<K extends BodyKind>(kind: K, bytes: Uint8Array, context: BodyContext): Bodies[K] {
  const body = parseJsonBody(bytes, context.limits.jsonMaxLevels, vectorPlace(kind, context));
  refuseUnknownFields(body, BODY_FIELDS[kind]);
  return DECODERS[kind](body, context);
}
