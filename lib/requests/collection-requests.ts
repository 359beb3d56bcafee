import { invalidArgument } from '../errors.ts';
import type { Limits } from '../limits.ts';
import type { Metric, Quantization } from '../store/catalog.ts';
import { isCollectionName, NAME_PATTERN } from './collection-name.ts';
import { component, type Field, flag, integer, oneOf, optional, powerOfTwo } from './field.ts';
import { place } from './place.ts';
import { RequestKind } from './request.ts';
import { tags } from './tags.ts';

export const METRICS: readonly Metric[] = ['cosine', 'euclidean', 'dot'];
/** Names used by other databases and numpy. */
const METRIC_ALIASES: Readonly<Record<string, Metric>> = {
  l2: 'euclidean',
  inner_product: 'dot',
  ip: 'dot',
  dotproduct: 'dot',
};
const QUANTIZATIONS: readonly Quantization[] = ['bf16', 'f32', 'f16', 'i8'];
const QUANTIZATION_ALIASES: Readonly<Record<string, Quantization>> = {
  int8: 'i8',
  float16: 'f16',
  bfloat16: 'bf16',
  float32: 'f32',
};

export function collectionName(limits: Limits): Field<string> {
  const { nameMaxChars } = limits;
  const expected = `1 to ${nameMaxChars} characters of A-Z a-z 0-9 . _ - that begin and end with a letter or digit`;
  return {
    schema: {
      type: 'string',
      description: 'Unique per account.',
      minLength: 1,
      maxLength: nameMaxChars,
      pattern: NAME_PATTERN,
    },
    decode(value, path) {
      if (!isCollectionName(value, limits)) throw invalidArgument(path, expected, value);
      return value;
    },
  };
}

/** Fields that the creator chooses, with their bounds; response schemas use them too. */
export const collectionFields = (limits: Limits) => ({
  name: component('CollectionName', collectionName(limits)),
  dimensions: integer('Length of every vector.', 1, limits.dimensionsMax),
  metric: oneOf('How vectors are compared.', METRICS, METRIC_ALIASES),
  shards: powerOfTwo('Power of two. The plan may allow fewer.', limits.shardsMax),
  replicas: integer('Followers per shard.', 0, limits.replicasMax),
  quantization: oneOf(
    'Precision of the search index. Scores are always computed from the exact float32 vectors.',
    QUANTIZATIONS,
    QUANTIZATION_ALIASES,
  ),
  deletionProtection: flag('The collection cannot be deleted.'),
  tags: tags(limits),
  place,
});

export function collectionRequests(limits: Limits) {
  const fields = collectionFields(limits);
  const { name, dimensions, metric, shards, replicas, quantization, deletionProtection, tags: noted } = fields;
  const chosen = {
    name,
    dimensions,
    metric: optional(metric, 'cosine'),
    shards: optional(shards, 1),
    replicas: optional(replicas, 0),
    quantization: optional(quantization, 'bf16'),
    deletionProtection: optional(deletionProtection, false),
    tags: optional(noted),
  };
  return {
    createCollection: new RequestKind(chosen),
    /** Body of an index creation by Pinecone clients. */
    createIndex: new RequestKind({ ...chosen, place: optional(fields.place) }),
    changeCollection: new RequestKind(
      { deletionProtection: optional(deletionProtection), tags: optional(noted) },
      'at least one',
    ),
    putAlias: new RequestKind({ collection: name }),
  };
}
