/**
 * Ties each entry of a shard's log to the one before it, so that an entry that was changed, exchanged or taken out after it was appended is noticed although nothing
 * needs it any more (`ShardLog.audit`). Both adapters store with an entry the link before it and its own.
 *
 * That shows what was changed by somebody who does not know of it, and damage. What cannot be forged is the root on the ledger.
 */
import { hash } from 'node:crypto';
import type { LogEntry } from './log.ts';

/** Stands before the first entry of a log. */
export const NO_LINK: Uint8Array = new Uint8Array(32);

/** SHA-256 (32 bytes) over the link before an entry and all that the entry says; `bodyHash` is the SHA-256 of its body. */
export function linkAfter(before: Uint8Array, entry: Omit<LogEntry, 'shard' | 'body'>, bodyHash: Uint8Array): Buffer {
  const { seq, epoch, entryId, kind, head, tally } = entry;
  const { version, type, count } = head;
  const counted = tally && [tally.accountId, tally.month, tally.writes, tally.vectors];
  const said = [seq, epoch, entryId, kind, version, type, hex(head.hash), count, counted, hex(bodyHash)];
  return hash('sha256', `PV1log\0${hex(before)}${JSON.stringify(said)}`, 'buffer');
}

/** An entry as it stands in a log. */
export interface LinkedEntry {
  entry: Omit<LogEntry, 'shard' | 'body'>;
  bodyHash: Uint8Array;
  before: Uint8Array;
  link: Uint8Array;
}

/** An entry that was looked at, and its link. */
export interface LinkedSeq {
  seq: number;
  link: Uint8Array;
}

/** The seq of the first of some entries, in order, that does not follow from the one before it; `after` stands before the first, null where that is not known. */
export function firstAltered(entries: LinkedEntry[], after: LinkedSeq | null): number | null {
  let last = after;
  for (const { entry, bodyHash, before, link } of entries) {
    if (last && entry.seq !== last.seq + 1) return last.seq + 1;
    if (entry.kind === 'damaged' || (last && !isSameLink(before, last.link))) return entry.seq;
    if (!isSameLink(linkAfter(before, entry, bodyHash), link)) return entry.seq;
    last = { seq: entry.seq, link };
  }
  return null;
}

export const isSameLink = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
