/**
 * Seals of a shard's log: the service wrote each entry, at this place of this shard, after the
 * entry before it; and the service wrote the head.
 *
 * Promises: without the installation's secret nobody can append an entry, change one, or move one
 * to another place or shard. An entry without its link reads as kind 'damaged', a head without its
 * seal as `unsoundHead`. Neither hides the others, and neither passes for absence.
 * What it does not do: notice entries taken off the end, with the head put back as it once was.
 * See docs/internals/sealing.md.
 */
import type { Keyring } from '../secret/keyring.ts';
import { type Said, Seals } from '../secret/seals.ts';
import type { ShardHead } from '../shard/head.ts';
import type { ShardKey } from '../shard/key.ts';
import type { LogEntry } from './log.ts';

/** Stands before the first entry of a log. */
export const NO_LINK: Uint8Array = new Uint8Array(32);

/** An entry as it stands in a log, without its body. */
export interface LinkedEntry {
  entry: Omit<LogEntry, 'body'>;
  /** SHA-256 of the body. */
  bodyHash: Uint8Array;
  before: Uint8Array;
  link: Uint8Array;
}

/** An entry that was looked at, and its link. */
export interface LinkedSeq {
  seq: number;
  link: Uint8Array;
}

export class LogSeals {
  readonly #seals: Seals;

  constructor(keyring: Keyring) {
    this.#seals = new Seals(keyring);
  }

  /** The link of an entry, 32 bytes. */
  link(linked: Omit<LinkedEntry, 'link'>): Buffer {
    return this.#seals.seal(saidOf(linked));
  }

  /**
   * The entry as its link says it, which alone tells whether its head is `contradicted`; null where
   * the link is not the service's.
   */
  linked(linked: LinkedEntry): LinkedEntry['entry'] | null {
    const { entry } = linked;
    for (const head of asSealed(entry.head)) {
      const said = { ...entry, head };
      if (this.#seals.fits(saidOf({ ...linked, entry: said }), linked.link)) return said;
    }
    return null;
  }

  /** The seal of a head that is stored apart from its entry, 32 bytes; `link` is its entry's. */
  head(shard: ShardKey, head: ShardHead, link: Uint8Array): Buffer {
    return this.#seals.seal(['head', shard, saidOfHead(head), hex(link)]);
  }

  /** As `linked`, of a head that is stored apart. */
  sealedHead(shard: ShardKey, head: ShardHead, link: Uint8Array, seal: unknown): ShardHead | null {
    const fits = (said: ShardHead): boolean => this.#seals.fits(['head', shard, saidOfHead(said), hex(link)], seal);
    return asSealed(head).find(fits) ?? null;
  }

  /**
   * The seq of the first of some entries, in order, that does not follow from the one before it;
   * `after` stands before the first, null where that is not known. Their `bodyHash` is of the
   * bodies as they are.
   */
  firstAltered(entries: LinkedEntry[], after: LinkedSeq | null): number | null {
    let last = after;
    for (const linked of entries) {
      const { seq, kind } = linked.entry;
      if (last && seq !== last.seq + 1) return last.seq + 1;
      if (kind === 'damaged' || (last && !isSameLink(linked.before, last.link))) return seq;
      if (this.linked(linked) === null) return seq;
      last = { seq, link: linked.link };
    }
    return null;
  }
}

export const isSameLink = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

function saidOf({ entry, bodyHash, before }: Omit<LinkedEntry, 'link'>): Said {
  const { shard, seq, epoch, entryId, kind, head, tally } = entry;
  const counted = tally && [tally.accountId, tally.month, tally.writes, tally.vectors];
  return ['entry', shard, hex(before), seq, epoch, entryId, kind, saidOfHead(head), counted, hex(bodyHash)];
}

function saidOfHead({ seq, version, type, hash, count, contradicted }: ShardHead): unknown[] {
  const said = [seq, version, type, hex(hash), count];
  return contradicted ? [...said, 'contradicted'] : said;
}

/** What a stored head may be, the usual first. */
const asSealed = (head: ShardHead): ShardHead[] => [head, { ...head, contradicted: true }];

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
