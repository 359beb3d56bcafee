import { LRUCache } from 'lru-cache';
import type { Collection, Filter } from 'mongodb';
import type { AccountId } from '../../lib/ids.ts';
import { daysBefore } from '../../lib/time/month.ts';
import {
  type AccountWriteHolds,
  KEPT_DAYS,
  type QueriesTaken,
  type QueryBlock,
  type UsageDay,
  type UsageRow,
  type UsageStore,
} from '../usage.ts';
import type { Connection } from './connection.ts';
import { type IdPart, idPart, lastNumber } from './document-id.ts';
import type { EntryDocument } from './log-entry-codec.ts';
import { nullOnDuplicate } from './store-failure.ts';
import {
  type BlockPart,
  dayField,
  foldedSeq,
  isDay,
  type MonthPart,
  monthField,
  seqPath,
  type TallyFolding,
  type UncountedEntry,
  type UsageDocument,
  uncountedIn,
  usageIn,
} from './tally-folding.ts';

/** Number of unfolded entries above which a read also folds them, to speed up later reads. */
const FOLD_ABOVE_ENTRIES = 256;
const ACCOUNTS_KEPT = 10_000;

/**
 * Usage is the sum of one document per account and of the entries not yet folded into it (see
 * tally-folding.ts).
 */
export class MongoUsage implements UsageStore {
  readonly #connection: Connection;
  readonly #entries: Collection<EntryDocument>;
  readonly #usage: Collection<UsageDocument>;
  readonly #folding: TallyFolding;
  /** Account -> `drops` as last read. */
  readonly #drops = new LRUCache<string, number>({ max: ACCOUNTS_KEPT });

  constructor(connection: Connection, folding: TallyFolding) {
    this.#connection = connection;
    this.#folding = folding;
    this.#entries = connection.collection('log');
    this.#usage = connection.collection('usage');
  }

  async read(accountId: AccountId, month: string): Promise<UsageRow> {
    return this.#read(idPart(accountId), monthField(month));
  }

  async readQueries(accountId: AccountId, month: string): Promise<QueriesTaken> {
    const { queries = 0, blocks = {} } = (await this.#queries(idPart(accountId), month)) ?? {};
    return { queries, blocks: Object.entries(blocks).map(([id, { n, node }]) => ({ id, node, granted: n })) };
  }

  async openBlock(
    accountId: AccountId,
    month: string,
    { id, node }: Pick<QueryBlock, 'id' | 'node'>,
    count: number,
    limit: number | null,
  ): Promise<number> {
    const max = limit ?? Number.MAX_SAFE_INTEGER;
    const account = idPart(accountId);
    const path = queriesPath(month);
    const place = blockPath(month, id);
    for (let wanted = Math.min(count, max); wanted > 0; ) {
      const room = { _id: account, [path]: { $lte: max - wanted }, [place]: { $exists: false } };
      const block: BlockPart = { n: wanted, node };
      if (await this.#change(room, { $inc: { [path]: wanted }, $set: { [place]: block } })) return wanted;
      const stored = await this.#connection.reading('reading usage', () => this.#queries(account, month));
      const open = stored?.blocks?.[idPart(id)];
      if (open !== undefined) return open.n;
      if (stored?.queries === undefined && !(await this.#makeMonth(account, path))) return 0;
      wanted = Math.min(count, max - (stored?.queries ?? 0));
    }
    return 0;
  }

  async readDays(accountId: AccountId, from: string, through: string): Promise<UsageDay[]> {
    const account = idPart(accountId);
    const { document, entries } = await this.#counted(account, 'months');
    const days = daysOf(document, entries);
    const old = daysBefore(through, KEPT_DAYS);
    const outdated = Object.keys(document?.months ?? {}).filter((day) => isDay(day) && day < old);
    if (outdated.length > 0) await this.#forgetDays(account, outdated);
    // A day may still be in the log alone, where nothing removes it.
    const first = from < old ? old : from;
    return days.filter(({ day, writes, queries }) => day >= first && day <= through && writes + queries > 0);
  }

  async closeBlock(accountId: AccountId, month: string, id: string, used: number, day?: string): Promise<boolean> {
    const account = idPart(accountId);
    const place = blockPath(month, id);
    const stored = await this.#connection.reading('reading usage', () => this.#queries(account, month));
    const open = stored?.blocks?.[idPart(id)];
    if (open === undefined) return false;
    const unused = Math.min(stored?.queries ?? 0, Math.max(0, open.n - used));
    const there = { _id: account, [place]: { $exists: true } };
    const ofDay = day === undefined ? {} : { [`months.${dayField(day)}.queries`]: Math.min(used, open.n) };
    return this.#change(there, { $inc: { [queriesPath(month)]: -unused, ...ofDay }, $unset: { [place]: '' } });
  }

  async readHolds(accountId: AccountId): Promise<AccountWriteHolds> {
    const document = usageIn(await this.#usage.findOne({ _id: idPart(accountId) }, { projection: { holds: 1 } }));
    return document?.holds ?? { revision: 0, holds: [], alone: null, line: [] };
  }

  async replaceHolds(accountId: AccountId, next: AccountWriteHolds): Promise<boolean> {
    const _id = idPart(accountId);
    const isFirst = next.revision === 1;
    const present = isFirst ? { holds: { $exists: false } } : { 'holds.revision': next.revision - 1 };
    const filter = { ...living(_id), ...present };
    const update = { $set: { holds: copyOf(next) } };
    const replaced = await nullOnDuplicate(this.#usage.updateOne(filter, update, { upsert: isFirst }));
    return replaced !== null && replaced.matchedCount + replaced.upsertedCount > 0;
  }

  /** Makes a previously deleted account id count usage again. Part of creating the account. */
  async revive(account: IdPart): Promise<void> {
    await this.#usage.deleteOne({ _id: account, deleted: true });
  }

  /** Removes all counts of an account, until `revive`. Part of deleting it. */
  async forget(account: IdPart): Promise<void> {
    await this.#usage.replaceOne({ _id: account }, { deleted: true }, { upsert: true });
  }

  async #read(account: IdPart, month: string): Promise<UsageRow> {
    const { document, entries } = await this.#counted(account, `months.${month}`);
    return document?.deleted ? { writes: 0, queries: 0, vectors: 0 } : sumOf(document, month, entries);
  }

  /** Reads a part of the months and the entries that it may not count yet, as of one moment. */
  async #counted(
    account: IdPart,
    part: string,
  ): Promise<{ document: UsageDocument | null; entries: UncountedEntry[] }> {
    for (let drops = this.#drops.get(account); ; ) {
      const entries = uncountedIn(
        await this.#entries.find({ uncounted: account }).project<UncountedEntry>({ tally: 1 }).toArray(),
      );
      const shards = [...new Set(entries.map(({ _id }) => shardOf(_id)))];
      const document = await this.#document(account, part, shards);
      const now = document?.drops ?? 0;
      this.#drops.set(account, now);
      // If a collection was dropped between the two reads, its entries may already be in the sums,
      // although its shards are no longer in the document.
      const isConsistent = entries.length === 0 || now === drops;
      drops = now;
      if (!isConsistent) continue;
      if (document?.deleted) return { document, entries: [] };
      if (entries.length > FOLD_ABOVE_ENTRIES) await this.#foldFor(entries);
      return { document, entries };
    }
  }

  async #document(account: IdPart, part: string, shards: string[]): Promise<UsageDocument | null> {
    const projection: Record<string, 1> = { drops: 1, deleted: 1, vectors: 1, [part]: 1 };
    for (const shard of shards) projection[seqPath(shard)] = 1;
    return usageIn(await this.#usage.findOne({ _id: account }, { projection }));
  }

  async #forgetDays(account: IdPart, days: string[]): Promise<void> {
    const $unset = Object.fromEntries(days.map((day) => [`months.${day}`, '' as const]));
    await this.#usage.updateOne({ _id: account }, { $unset });
  }

  async #foldFor(entries: UncountedEntry[]): Promise<void> {
    const newest = new Map<string, number>();
    for (const { _id } of entries) {
      const shard = shardOf(_id);
      newest.set(shard, Math.max(newest.get(shard) ?? 0, lastNumber(_id)));
    }
    try {
      for (const [shard, seq] of newest) await this.#folding.fold(shard, seq);
    } catch {
      // The sum is correct without folding; the next reader tries again.
    }
  }

  /** Returns false for a deleted account. */
  async #makeMonth(account: IdPart, path: string): Promise<boolean> {
    const [there, update] = [living(account), { $inc: { [path]: 0 } }];
    if ((await nullOnDuplicate(this.#usage.updateOne(there, update, { upsert: true }))) !== null) return true;
    // Either another call created the document at the same time, or the account is deleted.
    return this.#change(there, update);
  }

  async #change(filter: Filter<UsageDocument>, update: object): Promise<boolean> {
    return (await this.#usage.updateOne(filter, update)).matchedCount > 0;
  }

  async #queries(account: IdPart, month: string): Promise<Pick<MonthPart, 'queries' | 'blocks'> | null> {
    const field = monthField(month);
    const parts = ['queries', 'blocks'].map((part) => [`months.${field}.${part}`, 1] as const);
    const projection = Object.fromEntries(parts);
    return usageIn(await this.#usage.findOne({ _id: account }, { projection }))?.months?.[field] ?? null;
  }
}

/** Filters for the document of an account that is not deleted. */
function living(account: IdPart): Filter<UsageDocument> {
  return { _id: account, deleted: { $exists: false } };
}

function queriesPath(month: string): string {
  return `months.${monthField(month)}.queries`;
}

function blockPath(month: string, id: string): string {
  return `months.${monthField(month)}.blocks.${idPart(id)}`;
}

/** Copies the known fields only. */
function copyOf({ revision, holds, alone, line }: AccountWriteHolds): AccountWriteHolds {
  return {
    revision,
    holds: holds.map(({ id, writes, vectors, baseline, beat }) => ({ id, writes, vectors, baseline, beat })),
    alone,
    line: line.map(({ instance, beat }) => ({ instance, beat })),
  };
}

function sumOf(document: UsageDocument | null, month: string, entries: UncountedEntry[]): UsageRow {
  const counted = document?.months?.[month];
  const row = { writes: counted?.writes ?? 0, queries: counted?.queries ?? 0, vectors: document?.vectors ?? 0 };
  for (const { _id, tally } of entries) {
    if (tally === null || lastNumber(_id) <= foldedSeq(document, shardOf(_id))) continue;
    row.vectors += tally.vectors;
    if (tally.month === month) row.writes += tally.writes;
  }
  return row;
}

/** Returns what the document and the entries say about each day, oldest first. */
function daysOf(document: UsageDocument | null, entries: UncountedEntry[]): UsageDay[] {
  const days = new Map<string, UsageDay>();
  for (const [day, { writes = 0, queries = 0 }] of Object.entries(document?.months ?? {}))
    if (isDay(day)) days.set(day, { day, writes, queries: Math.max(0, queries) });
  for (const { _id, tally } of entries) {
    if (tally?.day === undefined || lastNumber(_id) <= foldedSeq(document, shardOf(_id))) continue;
    const before = days.get(tally.day) ?? { day: tally.day, writes: 0, queries: 0 };
    days.set(tally.day, { ...before, writes: before.writes + tally.writes });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

function shardOf(entryId: string): string {
  return entryId.slice(0, entryId.lastIndexOf('.'));
}
