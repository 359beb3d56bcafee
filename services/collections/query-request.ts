import { CONSISTENCIES, type CollectionQuery, type Consistency } from '../../lib/actions/collections.ts';
import type { QueryOptions } from '../../lib/actions/shards.ts';
import { invalidArgument, ProvecError } from '../../lib/errors.ts';
import { parseFilter } from '../../lib/filter/parse.ts';
import type { Limits } from '../../lib/limits.ts';
import { decodeId } from '../../lib/records/ids.ts';
import { decodeVector } from '../../lib/records/vector.ts';
import type { CollectionRow } from '../../lib/store/catalog.ts';

/** A checked query: what to look for, and either its vector or the id of the record whose vector it is. */
export interface CheckedQuery {
  options: Omit<QueryOptions, 'vector'>;
  like: { vector: Float32Array } | { id: string };
  isEventual: boolean;
  allowPartial: boolean;
}

/** Throws INVALID_ARGUMENT, DIMENSION_MISMATCH and INVALID_FILTER. */
export function readQuery(row: CollectionRow, request: CollectionQuery, limits: Limits): CheckedQuery {
  const { topK = limits.topKDefault, scoreThreshold = null } = request;
  if ((request.vector === undefined) === (request.id === undefined)) {
    const got = request.id === undefined ? 'neither' : 'both';
    throw new ProvecError('INVALID_ARGUMENT', `A query takes either vector or id; this one has ${got}.`, {
      details: [{ path: 'vector', expected: 'exactly one of vector and id', got }],
    });
  }
  if (!Number.isInteger(topK) || topK < 1 || topK > limits.topKMax) {
    throw invalidArgument('topK', `a whole number from 1 to ${limits.topKMax.toLocaleString('en')}`, topK);
  }
  if (scoreThreshold !== null && !Number.isFinite(scoreThreshold)) {
    throw invalidArgument('scoreThreshold', 'a finite number', scoreThreshold);
  }
  const filter = request.filter === undefined ? null : parseFilter(request.filter, limits);
  const options = {
    topK,
    filter: filter === null ? null : request.filter!,
    includeValues: flag(request, 'includeValues', false),
    includeMetadata: flag(request, 'includeMetadata', true),
    scoreThreshold,
    exact: flag(request, 'exact', false),
  };
  const like =
    request.id === undefined
      ? { vector: decodeVector(request.vector, 'vector', row.dimensions, row.metric) }
      : { id: decodeId(request.id, 'id', limits) };
  const isEventual = readConsistency(request.consistency);
  return { options, like, isEventual, allowPartial: flag(request, 'allowPartial', false) };
}

/** Whether copies may answer. Throws INVALID_ARGUMENT. */
export function readConsistency(consistency: Consistency = 'strong'): boolean {
  if (!CONSISTENCIES.includes(consistency))
    throw invalidArgument('consistency', CONSISTENCIES.join(' or '), consistency);
  return consistency === 'eventual';
}

function flag(
  request: CollectionQuery,
  name: 'includeValues' | 'includeMetadata' | 'exact' | 'allowPartial',
  fallback: boolean,
): boolean {
  const value = request[name] ?? fallback;
  if (typeof value !== 'boolean') throw invalidArgument(name, 'true or false', value);
  return value;
}
