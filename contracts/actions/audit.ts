/** Maximum number of entries per page, and the default. */
export const AUDIT_PAGE_MAX = 100;

/** Who made a change. */
export type AuditActor =
  | { type: 'key'; accountId: string; keyId: string }
  | { type: 'operator' }
  | { type: 'console'; node: string };

/** Fields of both entries of a change. `id` is the same in both. Times are ISO 8601 UTC. */
interface EntryHead {
  id: string;
  at: string;
  /** Such as `key.create`. */
  action: string;
}

/** Written before a change is made. */
export interface ChangeBegun extends EntryHead {
  phase: 'begin';
  actor: AuditActor;
  /** Node that makes the change. */
  node: string;
  /** Null for a console. */
  address: string | null;
  requestId: string | null;
  /** Account that is changed; null for the cluster itself. */
  accountId: string | null;
  /** Id or name of what is changed; null for something new. */
  target: string | null;
  /** What the request asked for, and the values before the change; each null if there are none. */
  asked: object | null;
  before: object | null;
}

/** Written after a change. Without one, it is unknown whether the change was made. */
export interface ChangeEnded extends EntryHead {
  phase: 'end';
  outcome: 'done' | 'refused' | 'failed';
  /** Code of the error that the request received; null if none. */
  code: string | null;
  /** Values after the change; null if there are none or if it was not done. */
  after: object | null;
}

/** Written when a service starts on a store that was copied by a backup. */
export interface BackupRestored extends Omit<ChangeEnded, 'after'> {
  action: 'backup.restore';
  node: string;
  after: { backupId: string; backupAt: string };
}

export type AuditedChange = ChangeBegun | ChangeEnded;

/** An entry in the API. An entry that the service did not write has no fields of a change. */
export type AuditEntryView = Partial<AuditedChange> & {
  seq: number;
  previousHash: string;
  hash: string;
  fault?: string;
};

/** Oldest first; `nextCursor` is set if there are more. `head` is the trail's newest entry. */
export interface AuditEntriesPage {
  entries: AuditEntryView[];
  head?: { seq: number; hash: string };
  nextCursor?: string;
}
