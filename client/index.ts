export type * as Api from './api/generated.ts';
export type { AnyMetadata, WithMetadata } from './api/metadata.ts';
export { Collection } from './collection.ts';
export { Exported, type ExportedRecord } from './export-stream.ts';
export {
  APIConnectionError,
  APIStatusError,
  APITimeoutError,
  BadRequestError,
  ConflictError,
  type ErrorCode,
  ForbiddenError,
  NotFoundError,
  OutOfCapacityError,
  PlanLimitError,
  ProvecError,
  RateLimitedError,
  ServerError,
  UnauthenticatedError,
  UnavailableError,
} from './http/errors.ts';
export type { ClientOptions, RequestOptions } from './http/options.ts';
export type { OnWarning } from './http/warnings.ts';
export type { ImportedRecord, ImportSource } from './import-body.ts';
export { Listing } from './listing.ts';
export { ProvecOperator } from './operator.ts';
export { Provec } from './provec.ts';
export { collectionAddress } from './verify/collection-address.ts';
export { rootOfRecords, type WholeRecord } from './verify/collection-root.ts';
export { LedgerError } from './verify/ledger-node.ts';
export type { ProofTerminal, RecordProof } from './verify/record-proof.ts';
export { VerificationError, type VerificationFailure } from './verify/verification-error.ts';
export { type AccountSnapshot, type Anchor, verifyAccount } from './verify/verify-account.ts';
export { type VerifiedExport, verifyExport } from './verify/verify-export.ts';
export { verifyOnLedger } from './verify/verify-on-ledger.ts';
export { type ExpectedRecord, verifyProof } from './verify/verify-proof.ts';
export { type AnchoringTransaction, type ExpectedAnchor, verifyTransaction } from './verify/verify-transaction.ts';
