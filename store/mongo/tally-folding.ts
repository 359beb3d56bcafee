/**
 * Folds the tallies of committed entries into the account's usage document, without transactions.
 *
 * Guarantees: every entry counts exactly once, even if folders run concurrently or crash between
 * steps. Dropping a collection subtracts its vectors once. Folding for a deleted account has no
 * effect. On failure: StoreError; the entry stays marked `uncounted` and the next folding takes it.
 * See docs/internals/store.md.
 */

import type { Collection } from 'mongodb';
import { lastOf } from '../../lib/checked-access.ts';
import type { CollectionId } from '../../lib/ids.ts';
import type { AccountWriteHolds } from '../usage.ts';
import type { Connection } from './connection.ts';
import { fields, flag, listOf, mapOf, nullable, optional, text, validated, whole } from './document-form.ts';
import { type IdPart, lastNumber, numbered } from './document-id.ts';
import type { EntryDocument } from './log-entry-codec.ts';
import type { LogShards } from './log-shards.ts';
import { nullOnDuplicate } from './store-failure.ts';

/**
 * `v`: vectors of the collection. `s`: shard index -> seq through which its entries are counted.
 */
interface CollectionShare {
  v: number;
  s: Record<string, number>;
}

/** `n`: queries granted. */
export interface BlockPart {
  n: number;
  node: string;
}

/** Counts of a month or, under the name of a day, of that day. */
export interface MonthPart {
  writes?: number;
  queries?: number;
  /** Open blocks by id. */
  blocks?: Record<string, BlockPart>;
}

export interface UsageDocument {
  _id: IdPart;
  deleted?: boolean;
  drops?: number;
  vectors?: number;
  months?: Record<string, MonthPart>;
  holds?: AccountWriteHolds;
  shards?: Record<string, CollectionShare>;
}

export type UncountedEntry = Pick<EntryDocument, '_id' | 'tally'>;

const WHAT = 'The usage of an account';
const HOLD = fields({ id: text, writes: whole, vectors: whole, baseline: nullable(whole), beat: whole });
const HOLDS = fields({
  revision: whole,
  holds: listOf(HOLD),
  alone: nullable(text),
  line: listOf(fields({ instance: text, beat: whole })),
});
const MONTH_PART = fields({
  writes: optional(whole),
  queries: optional(whole),
  blocks: optional(mapOf(fields({ n: whole, node: text }))),
});
/** All fields are optional, because a projection may leave them out. */
const SHARE = fields({ v: optional(whole), s: optional(mapOf(whole)) });
const USAGE = fields({
  deleted: optional(flag),
  drops: optional(whole),
  vectors: optional(whole),
  months: optional(mapOf(MONTH_PART)),
  holds: optional(HOLDS),
  shards: optional(mapOf(SHARE)),
});
const TALLY = nullable(
  fields({ accountId: text, month: isMonth, day: optional(isDay), writes: whole, vectors: whole }),
);

/** Validates a usage document or a projection of one. Throws StoreError 'damaged'. */
export function usageIn(document: UsageDocument | null): UsageDocument | null {
  return document && validated(document, USAGE, WHAT);
}

/** Validates entries whose tallies are not folded yet. Throws StoreError 'damaged'. */
export function uncountedIn(entries: UncountedEntry[]): UncountedEntry[] {
  return entries.map((entry) => validated(entry, fields({ tally: TALLY }), 'The tally of a log entry'));
}

const SLICE_ENTRIES = 1_000;
const MONTH = /^\d{4}-\d{2}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const LAST_SEQ = Number.MAX_SAFE_INTEGER;

export class TallyFolding {
  readonly #connection: Connection;
  readonly #entries: Collection<EntryDocument>;
  readonly #usage: Collection<UsageDocument>;
  readonly #shards: LogShards;

  constructor(connection: Connection, shards: LogShards) {
    this.#connection = connection;
    this.#shards = shards;
    this.#entries = connection.collection('log');
    this.#usage = connection.collection('usage');
  }

  /** Counts the shard's entries through `throughSeq` in the usage documents of their accounts. */
  async fold(shard: string, throughSeq: number): Promise<void> {
    for (;;) {
      const range = { _id: numbered(shard, 1, throughSeq), uncounted: { $exists: true } };
      const found = await this.#entries.findOne(range, { projection: { uncounted: 1 } });
      if (found === null) return;
      this.#connection.assertOpen();
      const account = validated(found.uncounted!, text, 'The account of a log entry');
      await this.#shards.charge(shard, account);
      await this.#foldSlice(shard, account, throughSeq);
    }
  }

  /**
   * Folds the remaining tallies of a collection's shards, then subtracts its vectors from its
   * account. Does nothing the second time.
   */
  async subtractCollection(collection: string, collectionId: CollectionId): Promise<void> {
    for (const { _id } of await this.#shards.ofCollection(collectionId)) await this.fold(_id, LAST_SEQ);
    const shards = await this.#shards.ofCollection(collectionId);
    for (const account of new Set(shards.flatMap(({ accounts }) => accounts))) {
      while (!(await this.#takeOffFrom(account, collection)));
    }
  }

  /**
   * Folds one slice of the account's uncounted entries of the shard; a concurrent folder may be
   * faster.
   */
  async #foldSlice(shard: string, account: IdPart, throughSeq: number): Promise<void> {
    // The document must be read first. Entries found `uncounted` after that are not counted in it,
    // unless its seq or `drops` changed since.
    const path = seqPath(shard);
    const projection = { drops: 1, deleted: 1, [path]: 1 };
    const document = usageIn(await this.#usage.findOne({ _id: account }, { projection }));
    const marked = { _id: numbered(shard, 1, throughSeq), uncounted: account };
    const entries = await this.#entries
      .find(marked)
      .project<UncountedEntry>({ tally: 1 })
      .sort({ _id: 1 })
      .limit(SLICE_ENTRIES)
      .toArray();
    if (entries.length === 0) return;
    uncountedIn(entries);
    const from = foldedSeq(document, shard);
    const through = lastNumber(lastOf(entries)._id);
    if (document?.deleted !== true && through > from) {
      const fresh = entries.filter(({ _id }) => lastNumber(_id) > from);
      if (!(await this.#count(shard, account, document, from, through, fresh))) return;
    }
    await this.#entries.updateMany({ _id: { $in: entries.map(({ _id }) => _id) } }, { $unset: { uncounted: '' } });
  }

  /** Returns false if the document changed since it was read. */
  async #count(
    shard: string,
    account: IdPart,
    document: UsageDocument | null,
    from: number,
    through: number,
    entries: UncountedEntry[],
  ): Promise<boolean> {
    const path = seqPath(shard);
    const filter = {
      _id: account,
      deleted: { $exists: false },
      drops: document?.drops ?? { $exists: false },
      [path]: from > 0 ? from : { $exists: false },
    };
    const update = { $inc: sumsOf(shard, entries), $set: { [path]: through } };
    const counted = await nullOnDuplicate(this.#usage.updateOne(filter, update, { upsert: document === null }));
    return counted !== null && counted.matchedCount + counted.upsertedCount > 0;
  }

  async #takeOffFrom(account: IdPart, collection: string): Promise<boolean> {
    const path = `shards.${collection}`;
    const projection = { drops: 1, [`${path}.v`]: 1 };
    const document = usageIn(await this.#usage.findOne({ _id: account }, { projection }));
    const vectors = document?.shards?.[collection]?.v;
    if (document === null || vectors === undefined) return true;
    const filter = {
      _id: account,
      drops: document.drops ?? { $exists: false },
      [`${path}.v`]: vectors,
    };
    const update = { $inc: { vectors: -vectors, drops: 1 }, $unset: { [path]: '' as const } };
    return (await this.#usage.updateOne(filter, update)).matchedCount > 0;
  }
}

/** Returns the path in a usage document of the seq through which a shard's entries are counted. */
export function seqPath(shard: string): string {
  const { collection, index } = partsOf(shard);
  return `shards.${collection}.s.${index}`;
}

/** Returns the seq through which the document counts a shard's entries. */
export function foldedSeq(document: UsageDocument | null, shard: string): number {
  const { collection, index } = partsOf(shard);
  return document?.shards?.[collection]?.s?.[index] ?? 0;
}

/** Returns a month as a field name. Throws RangeError if it is malformed. */
export function monthField(month: string): string {
  if (!isMonth(month)) throw new RangeError(`${month} is not a month`);
  return month;
}

/** Returns a day as a field name. Throws RangeError if it is malformed. */
export function dayField(day: string): string {
  if (!isDay(day)) throw new RangeError(`${day} is not a day`);
  return day;
}

export function isDay(value: unknown): boolean {
  return typeof value === 'string' && DAY.test(value);
}

function isMonth(value: unknown): boolean {
  return typeof value === 'string' && MONTH.test(value);
}

function sumsOf(shard: string, entries: UncountedEntry[]): Record<string, number> {
  const { collection } = partsOf(shard);
  const writes: Record<string, number> = {};
  let vectors = 0;
  for (const { tally } of entries) {
    if (tally === null) continue;
    vectors += tally.vectors;
    if (tally.writes === 0) continue;
    const path = `months.${monthField(tally.month)}.writes`;
    writes[path] = (writes[path] ?? 0) + tally.writes;
    if (tally.day === undefined) continue;
    const ofDay = `months.${dayField(tally.day)}.writes`;
    writes[ofDay] = (writes[ofDay] ?? 0) + tally.writes;
  }
  return { vectors, [`shards.${collection}.v`]: vectors, ...writes };
}

function partsOf(shard: string): { collection: string; index: number } {
  const dot = shard.lastIndexOf('.');
  return { collection: shard.slice(0, dot), index: Number(shard.slice(dot + 1)) };
}
