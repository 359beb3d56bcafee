/**
 * Seals of a shard's log. They prove that the service wrote each entry, at this seq of this shard,
 * after the entry before it, and that the service wrote the head.
 *
 * Guarantees: without the installation's secret an attacker cannot append or change an entry, or
 * move it to another seq or shard. An entry without a valid link reads as kind 'damaged', a head
 * without a valid seal as `invalidHead`; neither hides other entries or reads as absent. Limits:
 * the seals do not detect a log that was cut off at the end together with a restored older head.
 * See docs/internals/sealing.md.
 */
import type { Keyring } from '../lib/secret/keyring.ts';
import { type MacPayload, Seals } from '../lib/secret/seals.ts';
import type { ShardHead } from '../lib/shard/head.ts';
import type { ShardKey } from '../lib/shard/key.ts';
import type { LogEntry } from './log.ts';

/** The `before` of a log's first entry. */
export const NO_LINK: Uint8Array = new Uint8Array(32);

/** An entry of a log, without its body. */
export interface LinkedEntry {
  entry: Omit<LogEntry, 'body'>;
  /** SHA-256 of the body. */
  bodyHash: Uint8Array;
  before: Uint8Array;
  link: Uint8Array;
}

/** A verified entry's seq and link. */
export interface LinkedSeq {
  seq: number;
  link: Uint8Array;
}

export class LogSeals {
  readonly #seals: Seals;

  constructor(keyring: Keyring) {
    this.#seals = new Seals(keyring);
  }

  /** Returns the link of an entry, 32 bytes. */
  link(linked: Omit<LinkedEntry, 'link'>): Buffer {
    return this.#seals.seal(payloadOfEntry(linked));
  }

  /**
   * Returns the entry that the link confirms, or null if the link is not valid. Only the link shows
   * whether the entry's head is `contradicted`.
   */
  linked(linked: LinkedEntry): LinkedEntry['entry'] | null {
    const { entry } = linked;
    for (const head of possibleHeads(entry.head)) {
      const candidate = { ...entry, head };
      if (this.#seals.verify(payloadOfEntry({ ...linked, entry: candidate }), linked.link)) return candidate;
    }
    return null;
  }

  /**
   * Returns the seal of a head that is stored apart from its entry, 32 bytes. `link` is the entry's
   * link.
   */
  head(shard: ShardKey, head: ShardHead, link: Uint8Array): Buffer {
    return this.#seals.seal(['head', shard, payloadOfHead(head), hex(link)]);
  }

  /** Same as `linked`, for a head that is stored apart from its entry. */
  sealedHead(shard: ShardKey, head: ShardHead, link: Uint8Array, seal: unknown): ShardHead | null {
    const fits = (candidate: ShardHead): boolean =>
      this.#seals.verify(['head', shard, payloadOfHead(candidate), hex(link)], seal);
    return possibleHeads(head).find(fits) ?? null;
  }

  /**
   * Returns the seq of the first of `entries` (in order) that does not follow from its predecessor.
   * `after` is the entry before the first one, null if unknown. `bodyHash` must be computed from
   * the stored bodies.
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

function payloadOfEntry({ entry, bodyHash, before }: Omit<LinkedEntry, 'link'>): MacPayload {
  const { shard, seq, epoch, entryId, kind, head, tally } = entry;
  const counted = tally && [tally.accountId, tally.month, tally.writes, tally.vectors];
  return ['entry', shard, hex(before), seq, epoch, entryId, kind, payloadOfHead(head), counted, hex(bodyHash)];
}

function payloadOfHead({ seq, version, type, hash, count, contradicted }: ShardHead): unknown[] {
  const payload = [seq, version, type, hex(hash), count];
  return contradicted ? [...payload, 'contradicted'] : payload;
}

/** Returns the two heads that the stored parts may stand for, the usual one first. */
const possibleHeads = (head: ShardHead): ShardHead[] => [head, { ...head, contradicted: true }];

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
