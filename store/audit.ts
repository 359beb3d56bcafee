import { hash } from 'node:crypto';
import type { Sealed } from './sealed.ts';

/** Trail of changes that no API key made. All other trails are named after the key's account. */
export const OPERATOR_TRAIL = 'operator';

/** Previous hash of the first entry of a trail. */
export const NO_HASH = '0'.repeat(64);

/** A change or its outcome, as plain JSON without a secret, vector or metadata. */
export type AuditEntry = Readonly<Record<string, unknown>>;

/** An entry as stored. */
export interface AuditRow {
  trail: string;
  /** Position in the trail, from 1 and without gaps. */
  seq: number;
  /** Hash of the entry before this one. */
  previous: string;
  /** The entry as JSON with sorted keys. */
  entry: string;
}

/** An entry with its place in the trail. Hashes are 64 hex digits. */
export interface AuditItem {
  seq: number;
  previous: string;
  hash: string;
  /** Null if the service did not write the row. */
  entry: AuditEntry | null;
  /** Evidence that the trail was changed at or before this entry; null if there is none. */
  fault: string | null;
}

/** Part of a trail. */
export interface AuditPage {
  items: AuditItem[];
  /** Newest entry of the trail; null if it has none. */
  head: { seq: number; hash: string } | null;
}

/**
 * Audit trails. Each entry has the hash of the one before and a seal, so that a person who can
 * write to the store cannot forge, change or remove an entry unnoticed, except the newest ones:
 * only a reader who kept a later hash notices that these are gone.
 */
export interface AuditStore {
  /** Appends an entry; when it resolves, the entry is durable. An entry may be appended twice. */
  append(trail: string, entry: AuditEntry): Promise<void>;
  /** Returns at most `limit` entries after the position `after`, oldest first. */
  page(trail: string, after: number, limit: number): Promise<AuditPage>;
}

/** The trails as an adapter stores them: rows with seals that the adapter does not verify. */
export interface StoredAudit {
  /**
   * Stores rows of one trail in order, up to the first whose position is taken. Returns how many it
   * stored.
   */
  append(rows: readonly Sealed<AuditRow>[]): Promise<number>;
  last(trail: string): Promise<Sealed<AuditRow> | null>;
  /** Returns at most `limit` rows with a position from `from` on, in order. */
  page(trail: string, from: number, limit: number): Promise<Sealed<AuditRow>[]>;
  /** Removes rows with a position below `before`. */
  trim(trail: string, before: number): Promise<void>;
}

/** Returns the SHA-256 of an entry with its place, in hex, as docs/audit.md defines it. */
export const auditHash = ({ trail, seq, previous, entry }: AuditRow): string =>
  hash('sha256', JSON.stringify([trail, seq, previous, entry]));
