import type { AccountId, CollectionId } from '../lib/ids.ts';
import { EMPTY_HEAD, type ShardHead } from '../lib/shard/head.ts';
import type { ShardKey } from '../lib/shard/key.ts';

/**
 * What a committed entry adds to its account's usage. Stored with the entry, so it counts exactly
 * once.
 */
export interface Tally {
  accountId: AccountId;
  /** `YYYY-MM`, UTC, at commit time. */
  month: string;
  /** `YYYY-MM-DD`, the UTC day of that time; absent in entries of earlier versions. Not sealed. */
  day?: string;
  /** Records upserted. */
  writes: number;
  /** Change of the number of stored vectors; may be negative. */
  vectors: number;
}

/** One commit of one shard. `seq` starts at 1 and has no gaps. `body` is opaque to the store. */
export interface LogEntry {
  shard: ShardKey;
  seq: number;
  epoch: number;
  /** UUID of this append. A writer recognises its own entry by it after an unknown outcome. */
  entryId: string;
  /**
   * 'damaged' is never appended. Reads return it, with an empty body and head, for stored bytes
   * that do not decode or that the service did not write (log-seals.ts).
   */
  kind: 'write' | 'open' | 'void' | 'damaged';
  /**
   * The shard's head after this entry. `head.seq` equals `seq`; `head.version` rises by one for a
   * write and otherwise stays the same.
   */
  head: ShardHead;
  tally: Tally | null;
  body: Uint8Array<ArrayBuffer>;
}

/** A stored head, not yet validated. */
export type UncheckedHead = { [Part in keyof Omit<ShardHead, 'contradicted'>]: unknown };

export function isHead({ seq, version, type, hash, count }: UncheckedHead): boolean {
  const isNumbered = Number.isSafeInteger(seq) && Number.isSafeInteger(version) && Number.isSafeInteger(count);
  const isTyped = type === 'empty' || type === 'leaf' || type === 'inner';
  return isNumbered && isTyped && hash instanceof Uint8Array && hash.byteLength === 32;
}

/** Returns the placeholder for an entry that does not decode or has no valid link. */
export function damagedEntry(shard: ShardKey, seq: number): LogEntry {
  const head = { ...EMPTY_HEAD, seq };
  return { shard, seq, epoch: 0, entryId: '', kind: 'damaged', head, tally: null, body: new Uint8Array(0) };
}

/**
 * Returns the version after an entry, given the version before it. A damaged entry may have been a
 * write, and versions never go back, so it counts as one.
 */
export const versionAfter = (before: number, { kind }: Pick<LogEntry, 'kind'>): number =>
  kind === 'open' || kind === 'void' ? before : before + 1;

export interface ShardLog {
  /**
   * Returns 'conflict' and changes nothing if (shard, seq) is taken. On 'committed' entry, head and
   * tally are durable together.
   */
  append(entry: LogEntry): Promise<'committed' | 'conflict'>;
  /**
   * Returns entries after `afterSeq`, in order: at least one if there is one, then more up to
   * `maxBytes` of bodies.
   */
  read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]>;
  /**
   * Returns the newest entry's head, which survives trimming; null if the shard never had an entry.
   * Returns an `invalidHead` if the stored one does not decode or the service did not write it.
   */
  head(shard: ShardKey): Promise<ShardHead | null>;
  /** Same as `head`, for all shards of a collection; returns the heads by shard index. */
  heads(collectionId: CollectionId): Promise<Map<number, ShardHead>>;
  /** Removes entries up to and including `throughSeq`; the head stays. */
  trim(shard: ShardKey, throughSeq: number): Promise<void>;
  /**
   * Returns the seq of the first entry, up to and including `throughSeq`, that was altered or is
   * missing between others; null if all are sound. Reads every entry still in the log.
   */
  audit(shard: ShardKey, throughSeq: number): Promise<number | null>;
  /** Returns the lowest seq still in the log; null if the log is empty. */
  firstSeq(shard: ShardKey): Promise<number | null>;
}
