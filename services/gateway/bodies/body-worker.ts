/** Thread of the body pool: parses and checks one large body, off the main thread. */
import { Tinypool } from 'tinypool';
import { type ErrorCode, type ErrorDetail, ProvecError } from '../../../lib/errors.ts';
import { type Bodies, type BodyContext, type BodyName, decodeBytes, requestNameOf } from './decoders.ts';

/** Request to decode one body; `bytes` is transferred to the thread. */
export interface BodyJob {
  kind: BodyName;
  bytes: Uint8Array<ArrayBuffer>;
  context: BodyContext;
}

export type BodyOutcome =
  | { status: 'decoded'; body: unknown }
  | { status: 'refused'; code: ErrorCode; message: string; details: ErrorDetail[] | undefined };

/**
 * Decodes a body and transfers its vectors instead of copying them. Throws only internal errors; a
 * refused body is a result.
 */
export default function decode({ kind, bytes, context }: BodyJob): unknown {
  try {
    const body: unknown = decodeBytes(kind, bytes, context);
    const outcome: BodyOutcome = { status: 'decoded', body };
    return Tinypool.move({
      [Tinypool.transferableSymbol]: buffersOf(kind, body),
      [Tinypool.valueSymbol]: outcome,
    } as never);
  } catch (error) {
    if (!(error instanceof ProvecError)) throw error;
    return {
      status: 'refused',
      code: error.code,
      message: error.message,
      details: error.details,
    } satisfies BodyOutcome;
  }
}

type Vectors = readonly (Float32Array | null | undefined)[];

/** All vectors of a decoded body, by kind. Each vector has a buffer of its own. */
const VECTORS: { readonly [N in BodyName]?: (body: Bodies[N]) => Vectors } = {
  query: ({ vector }) => [vector],
  queries: ({ queries }) => queries.map(({ vector }) => vector),
  upsert: ({ records }) => [records.vectors],
  import: ({ lines }) => [lines.batch.vectors],
  update: ({ updates = [] }) => updates.map(({ values }) => values),
};

function buffersOf(kind: BodyName, body: unknown): ArrayBuffer[] {
  const vectorsOf = VECTORS[requestNameOf(kind)] as ((body: unknown) => Vectors) | undefined;
  return (vectorsOf?.(body) ?? []).flatMap((vector) => (vector ? [vector.buffer as ArrayBuffer] : []));
}
