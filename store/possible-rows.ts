import { LIMITS } from '../lib/limits.ts';
import { isPlanName, readPlanLimits } from '../lib/plans.ts';
import { isCollectionName } from '../lib/records/collection-name.ts';
import { SCOPES } from './keys.ts';
import type { StoredRow } from './resealing.ts';

const METRICS: readonly unknown[] = ['cosine', 'euclidean', 'dot'];
const QUANTIZATIONS: readonly unknown[] = ['bf16', 'f32', 'f16', 'i8'];

const isText = (...values: unknown[]): boolean => values.every((value) => typeof value === 'string');
const isWithin = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;

/**
 * Returns whether the service could have written the row. Checks types too: an unsealed row can
 * hold anything.
 */
export function isPossibleRow(stored: StoredRow): boolean {
  if (!stored.isInPlace) return false;
  switch (stored.kind) {
    case 'account': {
      const { id, name, plan, createdAt } = stored.row;
      return isText(id, name, createdAt) && isPlanName(plan);
    }
    case 'alias': {
      const { id, accountId, alias, collectionId, createdAt } = stored.row;
      return isText(id, accountId, collectionId, createdAt) && isCollectionName(alias, LIMITS);
    }
    case 'collection': {
      const { id, accountId, name, dimensions, metric, shards, replicas, quantization, createdAt } = stored.row;
      return (
        isText(id, accountId, createdAt) &&
        isCollectionName(name, LIMITS) &&
        isWithin(dimensions, 1, LIMITS.dimensionsMax) &&
        isWithin(shards, 1, LIMITS.shardsMax) &&
        Number.isInteger(Math.log2(shards)) &&
        isWithin(replicas, 0, LIMITS.replicasMax) &&
        METRICS.includes(metric) &&
        QUANTIZATIONS.includes(quantization) &&
        typeof stored.row.deletionProtection === 'boolean' &&
        isText(stored.row.tags ?? '')
      );
    }
    case 'plan':
      return isPlanName(stored.row.name) && isText(stored.row.limits) && readPlanLimits(stored.row.limits) !== null;
    case 'API key': {
      const { id, accountId, name, hash, prefix, scopes, createdAt, expiresAt } = stored.row;
      const areScopes = Array.isArray(scopes) && scopes.every((scope) => SCOPES.includes(scope));
      return isText(id, accountId, name, hash, prefix, createdAt, expiresAt ?? '') && areScopes;
    }
    case 'audit link': {
      const { id, accountId, collectionId, hash, label, createdAt, expiresAt } = stored.row;
      return isText(id, accountId, collectionId, hash, label ?? '', createdAt, expiresAt ?? '');
    }
    // Nothing else vouches for either.
    case 'audit entry':
    case 'checkpoint':
      return false;
  }
}
