/**
 * The logs of all shards. One insert is one commit: its `_id` is shard and seq, so of all appends
 * at a seq one is stored and the others collide.
 *
 * Guarantees: the next append of a fenced owner hits a taken seq. Reads return entries without gaps
 * and stop before a missing one. On failure: an append whose response was lost is 'unknown' and may
 * still arrive. To settle it, append a `void` at that seq. An append that would leave a gap is
 * refused. See docs/internals/store.md.
 */

import { LRUCache } from 'lru-cache';
import type { Collection } from 'mongodb';
import pLimit from 'p-limit';
import { itemAt, lastOf } from '../../lib/checked-access.ts';
import type { CollectionId } from '../../lib/ids.ts';
import { invalidHead, SEQ_MAX, type ShardHead } from '../../lib/shard/head.ts';
import { type ShardKey, shardKey } from '../../lib/shard/key.ts';
import { damagedEntry, type LogEntry, type ShardLog } from '../log.ts';
import { type LinkedSeq, type LogSeals, NO_LINK } from '../log-seals.ts';
import type { Connection } from './connection.ts';
import { idPart, joined, lastNumber, numbered, numberPart, shardPart, under } from './document-id.ts';
import { bytesOf } from './head-codec.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { decodeEntry, type EntryDocument, type EntryOutline, encodeEntry } from './log-entry-codec.ts';
import type { LogShards } from './log-shards.ts';
import { LogTrimming } from './log-trimming.ts';
import { newestIn } from './slices.ts';
import { digest, SplitBodies } from './split-bodies.ts';
import { isDuplicateKey } from './store-failure.ts';
import type { TallyFolding } from './tally-folding.ts';

const OUTLINES_PER_READ = 1_000;
const NEWEST_KEPT = 10_000;
const HEADS_AT_ONCE = 16;

export class MongoLog implements ShardLog {
  readonly #connection: Connection;
  readonly #entries: Collection<EntryDocument>;
  readonly #shards: LogShards;
  readonly #bodies: SplitBodies;
  readonly #trimming: LogTrimming;
  readonly #seals: LogSeals;
  readonly #turns = new KeyedMutex();
  /** Newest entry of each shard known to this process; other processes may have appended more. */
  readonly #newest = new LRUCache<string, LinkedSeq>({ max: NEWEST_KEPT });

  constructor(connection: Connection, shards: LogShards, folding: TallyFolding, seals: LogSeals) {
    this.#connection = connection;
    this.#shards = shards;
    this.#seals = seals;
    this.#entries = connection.collection('log');
    this.#bodies = new SplitBodies(connection);
    this.#trimming = new LogTrimming(connection, shards, folding);
  }

  async append(entry: LogEntry): Promise<'committed' | 'conflict'> {
    if (entry.head.seq !== entry.seq) throw new RangeError('the head of an entry must have the seq of the entry');
    const shard = shardPart(entry.shard);
    return this.#turns.inTurn(shard, () => this.#append(shard, entry));
  }

  async read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]> {
    return this.#read(shard, afterSeq, maxBytes);
  }

  async head(shard: ShardKey): Promise<ShardHead | null> {
    return this.#head(shard);
  }

  async heads(collectionId: CollectionId): Promise<Map<number, ShardHead>> {
    const indexes = (await this.#shards.ofCollection(collectionId)).map(({ index }) => index);
    const heads = await pLimit(HEADS_AT_ONCE).map(indexes, (index) => this.#head(shardKey(collectionId, index)));
    return new Map(heads.flatMap((head, at) => (head === null ? [] : [[itemAt(indexes, at), head]])));
  }

  async trim(shard: ShardKey, throughSeq: number): Promise<void> {
    await this.#trimming.trim(shard, throughSeq);
  }

  async audit(shard: ShardKey, throughSeq: number): Promise<number | null> {
    const part = shardPart(shard);
    const altered = await this.#firstAltered(shard, await this.#shards.trimmedThrough(part), throughSeq);
    // Entries trimmed during the audit have lost their bodies.
    return altered !== null && altered <= (await this.#shards.trimmedThrough(part)) ? null : altered;
  }

  async firstSeq(shard: ShardKey): Promise<number | null> {
    const part = shardPart(shard);
    const trimmed = await this.#shards.trimmedThrough(part);
    const [first] = await this.#outlines(part, trimmed, 1);
    return first === undefined ? null : lastNumber(first._id);
  }

  async remove(collectionId: CollectionId): Promise<void> {
    const shards = under(idPart(collectionId));
    await this.#turns.settled(shards.$gte);
    for (const shard of [...this.#newest.keys()]) if (shard.startsWith(shards.$gte)) this.#newest.delete(shard);
    await this.#trimming.removeAll(shards);
    await this.#shards.remove(collectionId);
  }

  /** Resolves when all appends to a collection requested so far have ended. */
  waitForAppends(collectionId: CollectionId): Promise<void> {
    return this.#turns.settled(under(idPart(collectionId)).$gte);
  }

  /** Keeps only one document in memory at a time. */
  async #firstAltered(shard: ShardKey, trimmed: number, throughSeq: number): Promise<number | null> {
    const part = shardPart(shard);
    let last: LinkedSeq | null = null;
    for await (const document of this.#entries
      .find({ _id: numbered(part, trimmed + 1, throughSeq) })
      .sort({ _id: 1 })) {
      const seq = lastNumber(document._id);
      const body = await this.#bodies.bodyOf(part, document);
      const linked = decodeEntry(shard, document);
      if (body === null || linked === null) return seq;
      const altered = this.#seals.firstAltered([{ ...linked, bodyHash: await digest(body) }], last);
      if (altered !== null) return altered;
      last = { seq, link: linked.link };
    }
    return null;
  }

  async #append(shard: string, entry: LogEntry): Promise<'committed' | 'conflict'> {
    const { seq, kind } = entry;
    const before = await this.#connection.reading('reading a head', () => this.#linkBefore(shard, seq, kind));
    if (before === 'taken') return 'conflict';
    // Parts without an entry have no effect, so a failure here means that nothing was appended.
    const parts = await this.#connection.reading('storing the body of a log entry', () =>
      this.#bodies.write(shard, entry),
    );
    const unlinked = { entry, bodyHash: await digest(entry.body), before };
    const link = this.#seals.link(unlinked);
    try {
      await this.#entries.insertOne(encodeEntry(shard, { ...unlinked, link }, entry.body, parts));
      if (seq > (this.#newest.get(shard)?.seq ?? 0)) this.#newest.set(shard, { seq, link });
      return 'committed';
    } catch (error) {
      this.#newest.delete(shard);
      if (!isDuplicateKey(error)) throw error;
      // No entry refers to these parts, so they only take room.
      if (parts > 0) await this.#removeParts(shard, entry).catch(() => undefined);
      return 'conflict';
    }
  }

  /** Keeps the parts if the entry itself is stored, from an attempt whose response was lost. */
  async #removeParts(shard: string, entry: LogEntry): Promise<void> {
    const _id = joined(shard, numberPart(entry.seq));
    const there = await this.#entries.findOne({ _id }, { projection: { entryId: 1 } });
    if (there?.entryId !== entry.entryId) await this.#bodies.remove(shard, entry);
  }

  /**
   * Returns the link that an entry at `seq` follows, or 'taken' if the seq is known to be used.
   * Throws RangeError if the append would leave a gap.
   */
  async #linkBefore(shard: string, seq: number, kind: LogEntry['kind']): Promise<Uint8Array | 'taken'> {
    let newest = this.#newest.get(shard);
    if (newest === undefined || seq > newest.seq + 1) {
      newest = (await this.#newestLink(shard)) ?? { seq: 0, link: NO_LINK };
      if (newest.seq === 0) await this.#shards.register(shard);
      this.#newest.set(shard, newest);
    }
    if (seq > newest.seq + 1) throw new RangeError(`entry ${seq} would leave a gap after ${newest.seq}`);
    if (seq === newest.seq + 1) return newest.link;
    // A `void` may close a gap that a failover left, so only the insert decides whether the seq is
    // taken.
    if (kind !== 'void' || seq <= (await this.#shards.trimmedThrough(shard))) return 'taken';
    const _id = joined(shard, numberPart(seq - 1));
    const found = await this.#entries.findOne({ _id }, { projection: { link: 1 } });
    return bytesOf(found?.link) ?? NO_LINK;
  }

  async #newestLink(shard: string): Promise<LinkedSeq | null> {
    const found = await this.#newestOf(shard);
    return found && { seq: lastNumber(found._id), link: bytesOf(found.link) ?? NO_LINK };
  }

  async #head(shard: ShardKey): Promise<ShardHead | null> {
    const found = await this.#newestOf(shardPart(shard));
    if (found === null) return null;
    const entry = this.#sound(shard, found);
    return entry === null ? invalidHead(lastNumber(found._id)) : entry.head;
  }

  #newestOf(part: string): Promise<EntryDocument | null> {
    return newestIn(this.#entries, numbered(part, 0, SEQ_MAX), { body: 0 });
  }

  /**
   * Returns the entry without its body; null if it is malformed or the service did not write it.
   */
  #sound(shard: ShardKey, document: EntryDocument): Omit<LogEntry, 'body'> | null {
    const linked = decodeEntry(shard, document);
    return linked && this.#seals.linked(linked);
  }

  async #read(shard: ShardKey, afterSeq: number, maxBytes: number): Promise<LogEntry[]> {
    const part = shardPart(shard);
    const entries: LogEntry[] = [];
    let bytes = 0;
    let after = Math.max(afterSeq, await this.#shards.trimmedThrough(part));
    for (;;) {
      const outlines = await this.#outlines(part, after, OUTLINES_PER_READ);
      const fitting: EntryOutline[] = [];
      for (const outline of outlines) {
        bytes += Number(outline.bodyBytes) || 0;
        if (entries.length + fitting.length > 0 && bytes > maxBytes) break;
        fitting.push(outline);
      }
      const found = await this.#fetch(shard, part, fitting);
      for (const entry of found) {
        if (entries.length > 0 && entry.seq !== lastOf(entries).seq + 1) return entries;
        entries.push(entry);
      }
      const trimmed = found.length < fitting.length ? await this.#shards.trimmedThrough(part) : 0;
      if (entries.length === 0 && trimmed > after) {
        // Everything chosen was trimmed in the meantime: start again after it.
        after = trimmed;
        bytes = 0;
      } else if (fitting.length < OUTLINES_PER_READ || found.length < fitting.length) return entries;
      else after = lastNumber(lastOf(fitting)._id);
    }
  }

  /** Returns the entries of the outlines, in order, without those trimmed in the meantime. */
  async #fetch(shard: ShardKey, part: string, outlines: EntryOutline[]): Promise<LogEntry[]> {
    const entries: LogEntry[] = [];
    for (let at = 0; at < outlines.length; ) {
      const some = sliceByBytes(outlines, at);
      at += some.length;
      const ids = some.map(({ _id }) => _id);
      const documents = await this.#entries
        .find({ _id: { $in: ids } })
        .sort({ _id: 1 })
        .toArray();
      for (const document of documents) {
        const entry = this.#sound(shard, document);
        const body = await this.#bodies.bodyOf(part, document);
        entries.push(entry && body ? { ...entry, body } : damagedEntry(shard, lastNumber(document._id)));
      }
    }
    if (!entries.some(({ kind }) => kind === 'damaged') && entries.length === outlines.length) return entries;
    const trimmed = await this.#shards.trimmedThrough(part);
    return entries.filter(({ seq }) => seq > trimmed);
  }

  #outlines(part: string, afterSeq: number, limit: number): Promise<EntryOutline[]> {
    return this.#entries
      .find({ _id: numbered(part, afterSeq + 1, SEQ_MAX) })
      .project<EntryOutline>({ bodyBytes: 1, parts: 1, entryId: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }
}

/** Returns outlines from `at` on, at least one, with at most 8 MiB of bodies in all. */
function sliceByBytes(outlines: EntryOutline[], at: number): EntryOutline[] {
  const maxBytes = 8 * 1024 * 1024;
  let bytes = 0;
  let end = at;
  for (const { bodyBytes } of outlines.slice(at)) {
    bytes += bodyBytes;
    if (end > at && bytes > maxBytes) break;
    end++;
  }
  return outlines.slice(at, end);
}
