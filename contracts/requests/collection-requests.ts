import { invalidArgument } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { isCollectionName, NAME_PATTERN } from '../../lib/records/collection-name.ts';
import type { Metric, Quantization } from '../../lib/records/metric.ts';
import {
  choiceField,
  componentField,
  type Field,
  flagField,
  integerField,
  optionalField,
  powerOfTwoField,
} from './field.ts';
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
  name: componentField('CollectionName', collectionName(limits)),
  dimensions: integerField('Length of every vector.', 1, limits.dimensionsMax),
  metric: choiceField('How vectors are compared.', METRICS, METRIC_ALIASES),
  shards: powerOfTwoField('Power of two. The plan may allow fewer.', limits.shardsMax),
  replicas: integerField('Followers per shard.', 0, limits.replicasMax),
  quantization: choiceField(
    'Precision of the search index. Scores are always computed from the exact float32 vectors.',
    QUANTIZATIONS,
    QUANTIZATION_ALIASES,
  ),
  deletionProtection: flagField('The collection cannot be deleted.'),
  tags: tags(limits),
  place,
});

export function collectionRequests(limits: Limits) {
  const fields = collectionFields(limits);
  const { name, dimensions, metric, shards, replicas, quantization, deletionProtection, tags: noted } = fields;
  const chosen = {
    name,
    dimensions,
    metric: optionalField(metric, 'cosine'),
    shards: optionalField(shards, 1),
    replicas: optionalField(replicas, 0),
    quantization: optionalField(quantization, 'bf16'),
    deletionProtection: optionalField(deletionProtection, false),
    tags: optionalField(noted),
  };
  return {
    createCollection: new RequestKind(chosen),
    /** Body of an index creation by Pinecone clients. */
    createIndex: new RequestKind({ ...chosen, place: optionalField(fields.place) }),
    changeCollection: new RequestKind(
      { deletionProtection: optionalField(deletionProtection), tags: optionalField(noted) },
      'at least one',
    ),
    putAlias: new RequestKind({ collection: name }),
  };
}
