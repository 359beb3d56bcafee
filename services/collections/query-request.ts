import type { CollectionQuery } from '../../lib/actions/collections.ts';
import type { Limits } from '../../lib/limits.ts';
import { requestsOf } from '../../lib/requests/requests.ts';
import type { QueryOptions } from '../../lib/shard/match.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';

/**
 * A checked query: what to look for, and either its vector or the id of the record whose vector it
 * is.
 */
export interface CheckedQuery {
  options: Omit<QueryOptions, 'vector'>;
  like: { vector: Float32Array } | { id: string };
  isEventual: boolean;
  allowPartial: boolean;
}

/** Throws INVALID_ARGUMENT, DIMENSION_MISMATCH and INVALID_FILTER. */
export function readQuery(row: CollectionRow, request: CollectionQuery, limits: Limits): CheckedQuery {
  const {
    vector,
    id,
    topK,
    filter,
    includeValues,
    includeMetadata,
    scoreThreshold = null,
    exact,
    consistency,
    allowPartial,
  } = requestsOf(limits).query.decode(request, { shape: row });
  // `{}` filters nothing.
  const filters = filter !== undefined && Object.keys(filter).length > 0;
  return {
    options: { topK, filter: filters ? filter : null, includeValues, includeMetadata, scoreThreshold, exact },
    like: vector === undefined ? { id: id! } : { vector },
    isEventual: consistency === 'eventual',
    allowPartial,
  };
}
