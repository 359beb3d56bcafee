/**
 * Appends one entry and determines its outcome. Never throws.
 *
 * - 'committed': the entry is durable.
 * - 'refused': the entry is not in the log and never will be; the log is unchanged.
 * - 'voided': as 'refused', but an empty entry now has its seq.
 * - 'fenced': another node's entry has its seq.
 * - 'unknown': the store does not respond. Claim the shard again before any other append.
 *
 * See docs/internals/shard.md.
 */
import { randomUUID } from 'node:crypto';
import type { ShardHead } from '../../../lib/shard/head.ts';
import type { LogEntry, ShardLog } from '../../../store/log.ts';
import { StoreError } from '../../../store/port.ts';

export type AppendOutcome =
  | { kind: 'committed' }
  | { kind: 'refused'; reason: StoreError }
  | { kind: 'voided'; voidEntry: LogEntry; reason: unknown }
  | { kind: 'fenced' }
  | { kind: 'unknown'; reason: unknown };

/** What the tail of the log shows after an attempt to append an entry. */
type TailState =
  | { there: 'own' }
  | { there: 'other'; entry: LogEntry }
  | { there: 'nothing'; reason: unknown }
  | { there: 'nothing for good'; reason: StoreError }
  | { there: 'unreadable'; reason: unknown };

/** `before` is the shard's head without the entry. */
export async function appendEntry(log: ShardLog, entry: LogEntry, before: ShardHead): Promise<AppendOutcome> {
  const first = await attempt(log, entry);
  switch (first.there) {
    case 'own':
      return { kind: 'committed' };
    case 'other':
      return { kind: 'fenced' };
    case 'nothing for good':
      return { kind: 'refused', reason: first.reason };
    case 'unreadable':
      return { kind: 'unknown', reason: first.reason };
    case 'nothing':
      return appendVoid(log, entry, before, first.reason);
  }
}

async function appendVoid(log: ShardLog, entry: LogEntry, before: ShardHead, reason: unknown): Promise<AppendOutcome> {
  const head = { ...before, seq: entry.seq };
  const empty: LogEntry = { ...entry, entryId: randomUUID(), kind: 'void', head, tally: null, body: new Uint8Array(0) };
  const second = await attempt(log, empty);
  if (second.there === 'own') return { kind: 'voided', voidEntry: empty, reason };
  if (second.there !== 'other') return { kind: 'unknown', reason: second.reason };
  return second.entry.entryId === entry.entryId ? { kind: 'committed' } : { kind: 'fenced' };
}

async function attempt(log: ShardLog, entry: LogEntry): Promise<TailState> {
  let reason: unknown = null;
  try {
    if ((await log.append(entry)) === 'committed') return { there: 'own' };
  } catch (error) {
    if (error instanceof StoreError && error.kind !== 'unknown') return { there: 'nothing for good', reason: error };
    reason = error;
  }
  try {
    const [found] = await log.read(entry.shard, entry.seq - 1, 1);
    if (found?.seq !== entry.seq) return { there: 'nothing', reason };
    return found.entryId === entry.entryId ? { there: 'own' } : { there: 'other', entry: found };
  } catch (error) {
    return { there: 'unreadable', reason: error };
  }
}
