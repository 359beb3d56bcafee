/** What the worker is asked to check. All texts are as the reader typed them. */
export interface CheckRequest {
  /** A proof or an export. */
  subject: Blob;
  trust: { authority: string; node: string } | { root: string };
  /** Empty texts are not compared. */
  collectionId: string;
  id: string;
  namespace: string;
  /** JSON of the record that a proof must be about. */
  record: string;
  /** Transaction that anchored the root of an export. */
  signature: string;
}

/** What a check came to. */
export type CheckOutcome =
  /** The verdict's lines have text of the file and of the node. */
  | { kind: 'verdict'; isProven: boolean; lines: string[] }
  /** The file or an option cannot be used. */
  | { kind: 'unusable'; message: string }
  /** The node of the ledger did not answer as one. */
  | { kind: 'ledger'; message: string };

/** Messages of the worker: how far it read, then the outcome. */
export type CheckMessage = { kind: 'progress'; bytes: number } | CheckOutcome;
