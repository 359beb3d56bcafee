import { EMPTY_HEAD, type ShardHead } from '../shard/head.ts';
import type { ShardKey } from '../shard/key.ts';

/**
 * What a committed entry adds to its account's usage; counted exactly once, with the entry itself.
 */
export interface Tally {
  accountId: string;
  /** `YYYY-MM`, UTC, at commit time. */
  month: string;
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
  /** UUID of this append, to recognise one's own entry after an unknown outcome. */
  entryId: string;
  /**
   * 'damaged' is never appended: it is what reading gives, with an empty body and head, for stored
   * bytes that do not decode or that the service did not write (log-seals.ts).
   */
  kind: 'write' | 'open' | 'void' | 'damaged';
  /**
   * The shard after this entry; head.seq === seq, and head.version one more than before for a
   * write, the same for others.
   */
  head: ShardHead;
  tally: Tally | null;
  body: Uint8Array;
}

/** What is stored as a head, whoever wrote it. */
export type HeadParts = { [Part in keyof Omit<ShardHead, 'contradicted'>]: unknown };

export function isHead({ seq, version, type, hash, count }: HeadParts): boolean {
  const isNumbered = Number.isSafeInteger(seq) && Number.isSafeInteger(version) && Number.isSafeInteger(count);
  const isTyped = type === 'empty' || type === 'leaf' || type === 'inner';
  return isNumbered && isTyped && hash instanceof Uint8Array && hash.byteLength === 32;
}

/** What reading gives in place of an entry that does not decode, or does not bear its link. */
export function damagedEntry(shard: ShardKey, seq: number): LogEntry {
  const head = { ...EMPTY_HEAD, seq };
  return { shard, seq, epoch: 0, entryId: '', kind: 'damaged', head, tally: null, body: new Uint8Array(0) };
}

/**
 * The version that an entry leads to from `before`; a damaged one may have been a write, and a
 * version never goes back.
 */
export const versionAfter = (before: number, { kind }: Pick<LogEntry, 'kind'>): number =>
  kind === 'open' || kind === 'void' ? before : before + 1;

export interface ShardLog {
  /**
   * 'conflict' when (shard, seq) is taken; then nothing is changed. On 'committed' entry, head and
   * tally are durable together.
   */
  append(entry: LogEntry): Promise<'committed' | 'conflict'>;
  /**
   * Entries after `afterSeq`, in order, at least one if there is one, then up to `maxBytes` of
   * bodies.
   */
  read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]>;
  /**
   * The newest entry's head; null when the shard never had an entry. Survives trimming. An
   * `unsoundHead` where the stored one does not decode, or the service did not write it.
   */
  head(shard: ShardKey): Promise<ShardHead | null>;
  /** Heads, as `head` gives them, of all shards of a collection that have one, by shard index. */
  heads(collectionId: string): Promise<Map<number, ShardHead>>;
  /** Removes entries up to and including `throughSeq`; the head stays. */
  trim(shard: ShardKey, throughSeq: number): Promise<void>;
  /**
   * The seq of the first entry still in the log, up to and including `throughSeq`, that is not what
   * was appended there, or is missing between others; null when all are sound. Reads every one of
   * them.
   */
  audit(shard: ShardKey, throughSeq: number): Promise<number | null>;
  /** The lowest seq still in the log; null when it is empty. */
  firstSeq(shard: ShardKey): Promise<number | null>;
}
