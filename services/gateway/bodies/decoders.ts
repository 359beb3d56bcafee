import { INTERNAL_LIMITS, type Limits } from '../../../lib/limits.ts';
import type { DecodeContext } from '../../../lib/requests/field.ts';
import { type DecodedRequest, type RequestName, requestsOf } from '../../../lib/requests/requests.ts';
import { parseJsonBody } from './json-body.ts';
import { EACH, type TextBounds, type VectorPlace } from './lifted-vectors.ts';

/**
 * What a body is checked against; `shape` is the collection's, for the kinds that carry vectors.
 */
export interface BodyContext {
  limits: Limits;
  shape: NonNullable<DecodeContext['shape']> | null;
  wallMs: number;
}

/** What the edge makes of each kind of body. */
export type Bodies = { [N in RequestName]: DecodedRequest<N> };

function vectorPlace(kind: RequestName, { limits, shape }: BodyContext): VectorPlace | null {
  if (shape === null) return null;
  const { dimensions } = shape;
  if (kind === 'query') return { path: ['vector'], countMax: 1, dimensions };
  if (kind === 'import') return { path: ['lines', EACH, 'values'], countMax: limits.recordsPerUpsertMax, dimensions };
  if (kind === 'queries')
    return { path: ['queries', EACH, 'vector'], countMax: limits.queriesPerRequestMax, dimensions };
  if (kind === 'update')
    return { path: ['updates', EACH, 'values'], countMax: limits.updatesPerRequestMax, dimensions };
  if (kind !== 'upsert') return null;
  return { path: ['records', EACH, 'values'], countMax: limits.recordsPerUpsertMax, dimensions };
}

/** What the JSON of a body may be made of. */
export const boundsOf = ({ jsonMaxLevels }: Limits): TextBounds => ({
  levelsMax: jsonMaxLevels,
  keysMax: INTERNAL_LIMITS.jsonObjectMaxKeys,
});

/**
 * Parses and checks a body of one kind. Throws the ProvecError for the client. Runs on the main
 * thread and in body workers alike.
 */
export function decodeBody<N extends RequestName>(kind: N, bytes: Uint8Array, context: BodyContext): Bodies[N] {
  const request = requestsOf(context.limits)[kind];
  const body = parseJsonBody(bytes, boundsOf(context.limits), vectorPlace(kind, context));
  request.refuseUnknown(body);
  return request.decode(body, context) as Bodies[N];
}
