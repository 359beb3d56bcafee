export { collectionAddress } from './verify/collection-address.ts';
export { rootOfRecords, type WholeRecord } from './verify/collection-root.ts';
export type { ProofTerminal, RecordProof } from './verify/record-proof.ts';
export { VerificationError, type VerificationFailure } from './verify/verification-error.ts';
export { type AccountSnapshot, type Anchor, verifyAccount } from './verify/verify-account.ts';
export { type VerifiedExport, verifyExport } from './verify/verify-export.ts';
export { type ExpectedRecord, verifyProof } from './verify/verify-proof.ts';
