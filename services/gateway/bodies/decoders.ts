import type { DecodeContext } from '../../../contracts/requests/field.ts';
import { type DecodedRequest, type RequestName, requestsOf } from '../../../contracts/requests/requests.ts';
import { INTERNAL_LIMITS, type Limits } from '../../../lib/limits.ts';
import type { JsonObject } from '../../../lib/records/fields.ts';
import { Misspellings } from '../../../lib/records/misspellings.ts';
import { ANY_INDEX, type TextBounds, type VectorPlace } from './extracted-vectors.ts';
import { parseJsonBody } from './json-body.ts';
import { RoundedInteger } from './rounded-integer.ts';
import { type DialectBodyName, type Translation, translationOf } from './translation.ts';

/** What a body is checked against. `shape` is null for kinds of body without vectors. */
export interface BodyContext {
  limits: Limits;
  shape: NonNullable<DecodeContext['shape']> | null;
  wallMs: number;
}

/** Kind of body: one of our requests, or another dialect's version of one. */
export type BodyName = RequestName | DialectBodyName;

/** Facts found by scanning the text of a body. */
export interface TextFindings {
  /** First integer in the body that a double cannot represent. Absent if there is none. */
  roundedInteger?: string;
}

/** A request as decoded from the text of a body. */
export type DecodedBody<N extends RequestName> = DecodedRequest<N> & TextFindings;

/** Type of the decoded body of each kind. */
export type Bodies = { [N in BodyName]: N extends RequestName ? DecodedBody<N> : TextFindings };

/** Returns the request that a kind of body translates to, or the kind itself. */
export const requestNameOf = (kind: BodyName): RequestName => translationOf(kind)?.request ?? (kind as RequestName);

function vectorPlace(kind: BodyName, { limits, shape }: BodyContext): VectorPlace | null {
  if (shape === null) return null;
  const translation = translationOf(kind);
  if (translation !== null)
    return (
      translation.vectorsAt && {
        path: translation.vectorsAt,
        countMax: limits.recordsPerUpsertMax,
        dimensions: shape.dimensions,
      }
    );
  const { dimensions } = shape;
  if (kind === 'query') return { path: ['vector'], countMax: 1, dimensions };
  if (kind === 'import')
    return { path: ['lines', ANY_INDEX, 'values'], countMax: limits.recordsPerUpsertMax, dimensions };
  if (kind === 'queries')
    return { path: ['queries', ANY_INDEX, 'vector'], countMax: limits.queriesPerRequestMax, dimensions };
  if (kind === 'update')
    return { path: ['updates', ANY_INDEX, 'values'], countMax: limits.updatesPerRequestMax, dimensions };
  if (kind !== 'upsert') return null;
  return { path: ['records', ANY_INDEX, 'values'], countMax: limits.recordsPerUpsertMax, dimensions };
}

export const boundsOf = ({ jsonMaxLevels }: Limits): TextBounds => ({
  levelsMax: jsonMaxLevels,
  keysMax: INTERNAL_LIMITS.jsonObjectMaxKeys,
  nameMaxBytes: INTERNAL_LIMITS.fieldNameMaxBytes,
});

/**
 * Parses and checks a body of one kind, on the main thread or in a body worker. Throws the
 * ProvecError for the client.
 */
export function decodeBytes<N extends BodyName>(kind: N, bytes: Uint8Array, context: BodyContext): Bodies[N] {
  const translation = translationOf(kind);
  const request = requestsOf(context.limits)[requestNameOf(kind)];
  if (translation !== null) return request.decode(...translated(translation, kind, bytes, context)) as Bodies[N];
  const rounded = new RoundedInteger();
  const body = parseJsonBody(bytes, boundsOf(context.limits), vectorPlace(kind, context), rounded);
  request.refuseUnknown(body);
  const decoded = request.decode(body, context) as Bodies[N];
  if (rounded.text !== null) decoded.roundedInteger = rounded.text;
  return decoded;
}

/**
 * Returns the body translated to our request, and the context to check it against. An empty body
 * counts as an empty object.
 */
function translated(
  { members = [], translate, relaxed = (context) => context }: Translation,
  kind: BodyName,
  bytes: Uint8Array,
  context: BodyContext,
): [JsonObject, DecodeContext] {
  const body = bytes.length === 0 ? {} : parseJsonBody(bytes, boundsOf(context.limits), vectorPlace(kind, context));
  new Misspellings(members).refuse(Object.keys(body));
  return [translate(body), relaxed(context)];
}
