import type { ErrorCode, ErrorDetail } from '../../../lib/errors.ts';
import type { RequestName } from '../../../lib/requests/requests.ts';
import type { BodyContext } from './decoders.ts';

/** Asks a body worker for one decoding; `bytes` is transferred. */
export interface BodyJob {
  kind: RequestName;
  bytes: Uint8Array<ArrayBuffer>;
  context: BodyContext;
}

/** A worker's answer; a `fault` is one of ours. */
export type BodyOutcome =
  | { status: 'decoded'; body: unknown }
  | { status: 'refused'; code: ErrorCode; message: string; details: ErrorDetail[] | undefined }
  | { status: 'fault'; message: string };
