/**
 * Why a check failed: `malformed` (not the documented shape), `not-canonical` (a shape that an
 * honest server never produces), `wrong-content` (not the expected record), `wrong-root` (does not
 * lead to the root), `wrong-account` (not the collection's account), `wrong-transaction` (did not
 * anchor a root of the collection).
 */
export type VerificationFailure =
  | 'malformed'
  | 'not-canonical'
  | 'wrong-content'
  | 'wrong-root'
  | 'wrong-account'
  | 'wrong-transaction';

/** A failed check. `message` describes it in a sentence. */
export class VerificationError extends Error {
  readonly reason: VerificationFailure;

  constructor(reason: VerificationFailure, message: string) {
    super(message);
    this.name = 'VerificationError';
    this.reason = reason;
  }
}

/** Throws a VerificationError unless `holds`. */
export function requireThat(holds: boolean, reason: VerificationFailure, message: string): asserts holds {
  if (!holds) throw new VerificationError(reason, message);
}
