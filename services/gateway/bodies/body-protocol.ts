import type { ErrorCode, ErrorDetail } from '../../../lib/errors.ts';
import type { BodyContext, BodyKind } from './decoders.ts';

/** Asks a body worker for one decoding; `bytes` is transferred. */
export interface BodyJob {
  kind: BodyKind;
  bytes: Uint8Array<ArrayBuffer>;
  context: BodyContext;
}

/** A worker's answer; a `fault` is one of ours. */
export type BodyOutcome =
  | { status: 'decoded'; body: unknown }
  | { status: 'refused'; code: ErrorCode; message: string; details: ErrorDetail[] | undefined }
  | { status: 'fault'; message: string };
