/**
 * Why something is not accepted: `malformed` (not of the documented shape), `not-canonical` (a
 * shape that no honest server makes), `wrong-content` (not the record that was expected),
 * `wrong-root` (does not lead to the root), `wrong-account` (not the account that belongs to the
 * collection), `wrong-transaction` (not one that anchored a root of the collection).
 */
export type VerificationFailure =
  | 'malformed'
  | 'not-canonical'
  | 'wrong-content'
  | 'wrong-root'
  | 'wrong-account'
  | 'wrong-transaction';

/** Thrown by every check that fails; `message` says in a sentence what did. */
export class VerificationError extends Error {
  readonly reason: VerificationFailure;

  constructor(reason: VerificationFailure, message: string) {
    super(message);
    this.name = 'VerificationError';
    this.reason = reason;
  }
}

/** Throws a VerificationError unless `holds`. */
export function demand(holds: boolean, reason: VerificationFailure, message: string): asserts holds {
  if (!holds) throw new VerificationError(reason, message);
}
