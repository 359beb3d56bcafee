import type { CreateCollection } from '../../lib/actions/collections.ts';
import { isCollectionName } from '../../lib/collection-name.ts';
import { describe, type ErrorDetail, ProvecError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { CollectionRow, Metric, Quantization } from '../../lib/store/catalog.ts';

const METRICS: readonly Metric[] = ['cosine', 'euclidean', 'dot'];
const QUANTIZATIONS: readonly Quantization[] = ['bf16', 'f32', 'f16', 'i8'];

/** Everything a creator chooses, with the defaults filled in. */
export type CollectionOptions = Omit<CollectionRow, 'id' | 'accountId' | 'createdAt'>;

/** Checks a request to create a collection; throws INVALID_ARGUMENT whose details name every bad field. */
export function readCreateRequest(request: CreateCollection, limits: Limits): CollectionOptions {
  const details: ErrorDetail[] = [];
  const check = (path: keyof CreateCollection, expected: string, valid: (value: unknown) => boolean): void => {
    const value: unknown = request[path];
    if (!valid(value)) details.push({ path, expected, got: describe(value) });
  };
  const optional = (valid: (value: unknown) => boolean) => (value: unknown) => value === undefined || valid(value);
  const within = (min: number, max: number) => (value: unknown) =>
    Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
  const oneOf = (values: readonly string[]) => (value: unknown) => values.includes(value as string);
  const shardCount = (value: unknown) =>
    within(1, limits.shardsMax)(value) && Number.isInteger(Math.log2(value as number));

  check(
    'name',
    `1 to ${limits.nameMaxChars} characters of A-Z a-z 0-9 . _ - that begin and end with a letter or digit`,
    (value) => isCollectionName(value, limits),
  );
  check(
    'dimensions',
    `a whole number from 1 to ${limits.dimensionsMax.toLocaleString('en')}`,
    within(1, limits.dimensionsMax),
  );
  check('metric', `one of ${METRICS.join(', ')}`, optional(oneOf(METRICS)));
  check('shards', `a power of two from 1 to ${limits.shardsMax}`, optional(shardCount));
  check('replicas', `a whole number from 0 to ${limits.replicasMax}`, optional(within(0, limits.replicasMax)));
  check('quantization', `one of ${QUANTIZATIONS.join(', ')}`, optional(oneOf(QUANTIZATIONS)));
  check(
    'deletionProtection',
    'true or false',
    optional((value) => typeof value === 'boolean'),
  );
  if (details.length > 0) {
    const faults = details.map(({ path, expected, got }) => `${path} must be ${expected}, but is ${got}`);
    throw new ProvecError('INVALID_ARGUMENT', `${faults.join('; ')}.`, { details });
  }
  return {
    name: request.name,
    dimensions: request.dimensions,
    metric: request.metric ?? 'cosine',
    shards: request.shards ?? 1,
    replicas: request.replicas ?? 0,
    quantization: request.quantization ?? 'bf16',
    deletionProtection: request.deletionProtection ?? false,
  };
}
