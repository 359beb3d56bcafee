/**
 * Reseals logs. A MongoDB write covers one document, but every entry's link covers the entry before
 * it, so a half-resealed log would not verify.
 *
 * The new links of a shard are therefore first written to `log-relinks`, which affects no reader.
 * Then the format document names the shard, and every start is refused until the links have been
 * copied to the log and the name is cleared. The next run after a crash finds either no name, and
 * discards the new links, or the name, and copies all of them again. So no service ever verifies a
 * half-resealed log.
 */
import { Binary, type Collection } from 'mongodb';
import type { Keyring } from '../../lib/secret/keyring.ts';
import { SEQ_MAX } from '../../lib/shard/head.ts';
import type { ShardKey } from '../../lib/shard/key.ts';
import { type LogFindings, LogResealing, type StoredEntry } from '../log-resealing.ts';
import { isSameLink } from '../log-seals.ts';
import type { ResealLogOptions } from '../resealing.ts';
import type { Connection } from './connection.ts';
import { lastNumber, numbered, shardPart } from './document-id.ts';
import { FORMAT_ID, formatCollection } from './format.ts';
import { bytesOf } from './head-codec.ts';
import { decodeEntry, type EntryDocument } from './log-entry-codec.ts';
import type { LogShards } from './log-shards.ts';
import { newestIn, pagesOf } from './slices.ts';
import { digest, SplitBodies } from './split-bodies.ts';

/** `_id` is that of the entry. */
interface RelinkDocument {
  _id: string;
  before: Binary;
  link: Binary;
}

export interface LogRelinkingOptions {
  /** Documents per write; for tests. */
  batch?: number;
  /** Awaited at each point where a crash matters; for tests. */
  onStep?(): Promise<void>;
}

const BATCH = 500;

export class LogRelinking {
  readonly #connection: Connection;
  readonly #entries: Collection<EntryDocument>;
  readonly #relinks: Collection<RelinkDocument>;
  readonly #shards: LogShards;
  readonly #bodies: SplitBodies;
  readonly #keyring: Keyring;
  readonly #batch: number;
  readonly #onStep: () => Promise<void>;

  constructor(connection: Connection, shards: LogShards, keyring: Keyring, options: LogRelinkingOptions) {
    this.#connection = connection;
    this.#entries = connection.collection('log');
    this.#relinks = connection.collection('log-relinks');
    this.#shards = shards;
    this.#bodies = new SplitBodies(connection);
    this.#keyring = keyring;
    this.#batch = options.batch ?? BATCH;
    this.#onStep = options.onStep ?? (async () => undefined);
  }

  /**
   * Finishes copying for an interrupted run, or discards its links if it had not started copying.
   */
  async complete(relinking: string | null): Promise<void> {
    if (relinking !== null) await this.#copy();
    await this.#relinks.deleteMany({});
  }

  async reseal(shard: ShardKey, { trustsLog, writes }: ResealLogOptions): Promise<LogFindings> {
    const part = shardPart(shard);
    const resealing = new LogResealing(this.#keyring, trustsLog);
    let waiting: RelinkDocument[] = [];
    let isAny = false;
    const put = async (): Promise<void> => {
      if (waiting.length > 0) await this.#relinks.insertMany(waiting);
      isAny ||= waiting.length > 0;
      waiting = [];
    };
    for await (const document of this.#read(part)) {
      const relinked = resealing.entry(await this.#storedEntry(shard, part, document));
      if (relinked === null || !writes) continue;
      const { before, link } = relinked;
      waiting.push({ _id: document._id, before: new Binary(before), link: new Binary(link) });
      if (waiting.length === this.#batch) await put();
    }
    await put();
    if (!isAny) return resealing.found;
    await this.#onStep();
    await this.#name(part);
    await this.#copy();
    await this.#name(null);
    await this.#onStep();
    await this.#relinks.deleteMany({});
    return resealing.found;
  }

  /**
   * Reads the entries that a reader of the log sees, in order. Includes the newest entry even if it
   * is trimmed, because it serves as the head.
   */
  async *#read(part: string): AsyncIterable<EntryDocument> {
    const trimmed = await this.#shards.trimmedThrough(part);
    const newest = await newestIn(this.#entries, numbered(part, 0, SEQ_MAX));
    if (newest === null) return;
    if (lastNumber(newest._id) <= trimmed) yield newest;
    else yield* this.#entries.find({ _id: numbered(part, trimmed + 1, SEQ_MAX) }).sort({ _id: 1 });
  }

  async #storedEntry(shard: ShardKey, part: string, document: EntryDocument): Promise<StoredEntry> {
    const seq = lastNumber(document._id);
    const linked = decodeEntry(shard, document);
    const link = bytesOf(document.link);
    if (linked === null) return { seq, linked, link, isWhole: false };
    const body = await this.#bodies.bodyOf(part, document);
    // The body of a trimmed entry is gone; its hash is all that is left.
    const isTrimmed = body === null && seq <= (await this.#shards.trimmedThrough(part));
    const isWhole = isTrimmed || (body !== null && isSameLink(await digest(body), linked.bodyHash));
    return { seq, linked, link, isWhole };
  }

  async #copy(): Promise<void> {
    await this.#onStep();
    for await (const page of pagesOf(this.#connection, this.#relinks, {}, this.#batch)) {
      const writes = page.map(({ _id, before, link }) => ({
        updateOne: { filter: { _id }, update: { $set: { before, link } } },
      }));
      await this.#entries.bulkWrite(writes, { ordered: false });
      await this.#onStep();
    }
  }

  async #name(relinking: string | null): Promise<void> {
    await formatCollection(this.#connection).updateOne({ _id: FORMAT_ID }, { $set: { resealing: { relinking } } });
  }
}
