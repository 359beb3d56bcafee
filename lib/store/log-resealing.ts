/**
 * Puts the seals of the current secret on a log: what each entry's `before` and `link` are to be,
 * in order of the entries, then the head's.
 *
 * Promises
 * - What an entry says stays as it is. Its body is hashed again: one that is not what its hash
 *   says, or does not decode, is left as it stands, believed or not.
 * - An entry that followed from the one before it follows from it again, under that one's new link;
 *   one that did not still does not, so that an audit finds the same place. The first one keeps
 *   what stands before it, which is trimmed: nobody holds that against anything.
 * - An entry without a seal is left where it is not to be believed, and a head too.
 */
import type { Keyring } from '../secret/keyring.ts';
import type { ShardHead } from '../shard/head.ts';
import type { ShardKey } from '../shard/key.ts';
import type { LogEntry, Tally } from './log.ts';
import { isSameLink, type LinkedEntry, LogSeals } from './log-seals.ts';

/** What was found in a log: entries and head by the seal that they bore. */
export interface LogFindings {
  current: number;
  earlier: number;
  none: number;
  /** Those that bear no good seal afterwards either. */
  refused: number;
  /** Seqs of the first few entries of those; the head's is null. */
  refusedSeqs: (number | null)[];
}

/** An entry as it is stored. */
export interface StoredEntry {
  seq: number;
  /** Null where it does not decode. */
  linked: LinkedEntry | null;
  /** Null where it has none. */
  link: Uint8Array | null;
  /** Whether its body is that of its hash. */
  isWhole: boolean;
}

/** What is to stand with an entry. */
export interface Relinked {
  before: Uint8Array;
  link: Uint8Array;
}

/** A head as it is stored apart from its entry. */
export interface StoredHead {
  shard: ShardKey;
  /** Null where it does not decode. */
  head: ShardHead | null;
  link: Uint8Array;
  seal: Uint8Array;
}

const NAMED_MAX = 10;
const KINDS: readonly unknown[] = ['write', 'open', 'void'];

/** Whether the service could have appended it. */
export function isPossibleEntry({ seq, epoch, entryId, kind, head, tally }: Omit<LogEntry, 'body'>): boolean {
  const isNamed = typeof entryId === 'string' && KINDS.includes(kind);
  return isNamed && Number.isSafeInteger(epoch) && head.seq === seq && isPossibleTally(tally);
}

function isPossibleTally(tally: Tally | null): boolean {
  if (tally === null) return true;
  // Of a document not even that is certain that it has one.
  const { accountId, month, writes, vectors } = tally ?? {};
  const isNumbered = Number.isSafeInteger(writes) && Number.isSafeInteger(vectors);
  return typeof accountId === 'string' && typeof month === 'string' && isNumbered;
}

/**
 * Takes a log for what it says, whoever sealed it. For whoever holds a store against the ledger
 * whose secret is lost, and for nobody else: no service opens a store with it.
 */
export class BelievingLogSeals extends LogSeals {
  override linked({ entry }: LinkedEntry): LinkedEntry['entry'] | null {
    return isPossibleEntry(entry) ? entry : null;
  }

  override sealedHead(_: ShardKey, head: ShardHead): ShardHead {
    return head;
  }
}

/** One log, from its first entry to its head. */
export class LogResealing {
  readonly found: LogFindings = { current: 0, earlier: 0, none: 0, refused: 0, refusedSeqs: [] };
  readonly #current: LogSeals;
  readonly #accepted: LogSeals;
  readonly #believes: boolean;
  /** The entry before, with its link as it was and as it is to be. */
  #last: { seq: number; was: Uint8Array; is: Uint8Array } | null = null;

  constructor(keyring: Keyring, believes: boolean) {
    this.#current = new LogSeals([keyring[0]]);
    this.#accepted = new LogSeals(keyring);
    this.#believes = believes;
  }

  /** Null where the entry stays as it is. */
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

  /** Null where the head stays as it is. */
  head({ shard, head, link, seal }: StoredHead): { link: Uint8Array; seal: Uint8Array } | null {
    const last = this.#last;
    const next = last !== null && isSameLink(link, last.was) ? last.is : link;
    const taken = this.#taken(null, head, (seals) => head && seals.sealedHead(shard, head, link, seal));
    const nextSeal = taken === null ? seal : this.#current.head(shard, taken, next);
    // Whatever the head says, its link is what the next entry follows.
    return isSameLink(next, link) && isSameLink(nextSeal, seal) ? null : { link: next, seal: nextSeal };
  }

  /**
   * What is sealed anew: as the seal says it, else `possible` where a log without one is believed;
   * null where it is refused.
   */
  #taken<T>(seq: number | null, possible: T | null, sealedAs: (seals: LogSeals) => T | null): T | null {
    const { found } = this;
    const current = sealedAs(this.#current);
    const said = current ?? sealedAs(this.#accepted);
    if (current !== null) found.current++;
    else if (said !== null) found.earlier++;
    else found.none++;
    const taken = said ?? (this.#believes ? possible : null);
    if (taken !== null) return taken;
    found.refused++;
    if (found.refusedSeqs.length < NAMED_MAX) found.refusedSeqs.push(seq);
    return null;
  }
}
