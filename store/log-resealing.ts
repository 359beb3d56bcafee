/**
 * Reseals a log with the current secret: computes the new `before` and `link` of each entry, in
 * order, then the new seal of the head.
 *
 * Guarantees
 * - The content of an entry never changes. An entry whose body does not match its hash, or does not
 *   decode, is left as it is.
 * - An entry that followed from its predecessor follows from the predecessor's new link; one that
 *   did not still does not, so an audit finds the same place. The first entry keeps its `before`,
 *   which refers to a trimmed entry and is never checked.
 * - An entry or head without a valid seal is left as it is, unless the log is to be trusted.
 */
import type { Keyring } from '../lib/secret/keyring.ts';
import type { ShardHead } from '../lib/shard/head.ts';
import type { ShardKey } from '../lib/shard/key.ts';
import type { LogEntry, Tally } from './log.ts';
import { isSameLink, type LinkedEntry, LogSeals } from './log-seals.ts';

/** Number of entries and heads of a log by the secret that sealed them. */
export interface LogFindings {
  current: number;
  earlier: number;
  none: number;
  /** Number of those that have no valid seal after resealing either. */
  refused: number;
  /** Seqs of the first few refused entries; null for the head. */
  refusedSeqs: (number | null)[];
}

export interface StoredEntry {
  seq: number;
  /** Null if the entry does not decode. */
  linked: LinkedEntry | null;
  /** Null if the entry has none. */
  link: Uint8Array | null;
  /** Whether the body matches its hash. */
  isWhole: boolean;
}

/** The values to store with an entry. */
export interface Relinked {
  before: Uint8Array;
  link: Uint8Array;
}

/** A head as stored apart from its entry. */
export interface StoredHead {
  shard: ShardKey;
  /** Null if the head does not decode. */
  head: ShardHead | null;
  link: Uint8Array;
  seal: Uint8Array;
}

const NAMED_MAX = 10;
const KINDS: readonly unknown[] = ['write', 'open', 'void'];

/** Returns whether the service could have appended the entry. */
export function isPossibleEntry({ seq, epoch, entryId, kind, head, tally }: Omit<LogEntry, 'body'>): boolean {
  const isNamed = typeof entryId === 'string' && KINDS.includes(kind);
  return isNamed && Number.isSafeInteger(epoch) && head.seq === seq && isPossibleTally(tally);
}

function isPossibleTally(tally: Tally | null): boolean {
  if (tally === null) return true;
  // In MongoDB a tally can be any document, or missing.
  const { accountId, month, writes, vectors } = tally ?? {};
  const isNumbered = Number.isSafeInteger(writes) && Number.isSafeInteger(vectors);
  return typeof accountId === 'string' && typeof month === 'string' && isNumbered;
}

/**
 * Accepts a log's content without verifying seals. Only for auditing a store whose secret is lost
 * against the ledger; no service opens a store with it.
 */
export class UnverifiedLogSeals extends LogSeals {
  override linked({ entry }: LinkedEntry): LinkedEntry['entry'] | null {
    return isPossibleEntry(entry) ? entry : null;
  }

  override sealedHead(_: ShardKey, head: ShardHead): ShardHead {
    return head;
  }
}

export class LogResealing {
  readonly found: LogFindings = { current: 0, earlier: 0, none: 0, refused: 0, refusedSeqs: [] };
  readonly #current: LogSeals;
  readonly #accepted: LogSeals;
  readonly #trustsLog: boolean;
  /** The previous entry, with its old and its new link. */
  #last: { seq: number; was: Uint8Array; is: Uint8Array } | null = null;

  constructor(keyring: Keyring, trustsLog: boolean) {
    this.#current = new LogSeals([keyring[0]]);
    this.#accepted = new LogSeals(keyring);
    this.#trustsLog = trustsLog;
  }

  /** Returns the values to store, or null if the entry stays as it is. */
  entry({ seq, linked, link, isWhole }: StoredEntry): Relinked | null {
    const last = this.#last;
    this.#last = link && { seq, was: link, is: link };
    const sound = isWhole ? linked : null;
    const possible = sound !== null && isPossibleEntry(sound.entry) ? sound.entry : null;
    const entry = this.#taken(seq, possible, (seals) => sound && seals.linked(sound));
    if (sound === null || entry === null) return null;
    const follows = last?.seq === seq - 1 && isSameLink(sound.before, last.was);
    const before = follows ? last.is : sound.before;
    const next = this.#current.link({ ...sound, entry, before });
    if (isSameLink(next, sound.link)) return null;
    this.#last!.is = next;
    return { before, link: next };
  }

  /** Returns the values to store, or null if the head stays as it is. */
  head({ shard, head, link, seal }: StoredHead): { link: Uint8Array; seal: Uint8Array } | null {
    const last = this.#last;
    const next = last !== null && isSameLink(link, last.was) ? last.is : link;
    const taken = this.#taken(null, head, (seals) => head && seals.sealedHead(shard, head, link, seal));
    const nextSeal = taken === null ? seal : this.#current.head(shard, taken, next);
    // The next entry follows the head's link, so the link changes even if the head is refused.
    return isSameLink(next, link) && isSameLink(nextSeal, seal) ? null : { link: next, seal: nextSeal };
  }

  /**
   * Returns what to seal: the content that a valid seal confirms, otherwise `possible` if unsealed
   * logs are trusted, otherwise null. Counts the outcome in `found`.
   */
  #taken<T>(seq: number | null, possible: T | null, sealedAs: (seals: LogSeals) => T | null): T | null {
    const { found } = this;
    const current = sealedAs(this.#current);
    const sealed = current ?? sealedAs(this.#accepted);
    if (current !== null) found.current++;
    else if (sealed !== null) found.earlier++;
    else found.none++;
    const taken = sealed ?? (this.#trustsLog ? possible : null);
    if (taken !== null) return taken;
    found.refused++;
    if (found.refusedSeqs.length < NAMED_MAX) found.refusedSeqs.push(seq);
    return null;
  }
}
