import { parseShardKey } from '../../shard/shard-key.ts';
import type { LogEntry } from '../log.ts';
import type { BatchMark, QueriesTaken, QueryBatch, QueryBlock, UsageRow, UsageStore, WriteHolds } from '../usage.ts';
import type { Environment, Table } from './environment.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { idPart, prefixRange } from './row-key.ts';
import { damaged } from './store-failure.ts';

interface MonthCounts {
  writes: number;
  queries: number;
  /** Those that are open. */
  blocks?: QueryBlock[];
  /** Counter -> number of its last batch. */
  marks?: Record<string, number>;
}

/** A collection's share of its account's stored vectors, to be taken off when the collection is dropped. */
interface Share {
  accountId: string;
  vectors: number;
}

/** Tables: account + month -> counts; account -> vectors stored; collection -> its share of them; account -> writes under way. */
export class LmdbUsage implements UsageStore {
  readonly #env: Environment;
  readonly #months: Table;
  readonly #vectors: Table;
  readonly #shares: Table;
  readonly #holds: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#months = env.table('usage-months');
    this.#vectors = env.table('usage-vectors');
    this.#shares = env.table('usage-shares');
    this.#holds = env.table('usage-holds');
  }

  async read(accountId: string, month: string): Promise<UsageRow> {
    return this.#env.read(() => {
      const { writes, queries } = this.#readMonth(monthKey(accountId, month));
      return { writes, queries, vectors: this.#readVectors(idPart(accountId)) ?? 0 };
    });
  }

  async countQueries(accountId: string, month: string, { counter, number, count }: QueryBatch): Promise<void> {
    const key = monthKey(accountId, month);
    await this.#env.write(() => {
      const counts = this.#readMonth(key);
      const { marks = {} } = counts;
      if ((marks[counter] ?? 0) >= number) return;
      const queries = Math.max(0, counts.queries + count);
      this.#months.putSync(key, encodeRow({ ...counts, queries, marks: { ...marks, [counter]: number } }));
    });
  }

  async forgetBatch(accountId: string, month: string, { counter, number }: BatchMark): Promise<void> {
    const key = monthKey(accountId, month);
    await this.#env.write(() => {
      const counts = this.#readMonth(key);
      if (counts.marks?.[counter] !== number) return;
      const { [counter]: _, ...marks } = counts.marks;
      this.#months.putSync(key, encodeRow({ ...counts, marks }));
    });
  }

  async readQueries(accountId: string, month: string): Promise<QueriesTaken> {
    return this.#env.read(() => {
      const { queries, blocks = [] } = this.#readMonth(monthKey(accountId, month));
      return { queries, blocks };
    });
  }

  async openBlock(
    accountId: string,
    month: string,
    { id, node }: Pick<QueryBlock, 'id' | 'node'>,
    count: number,
    limit: number,
  ): Promise<number> {
    const key = monthKey(accountId, month);
    return this.#env.write(() => {
      const counts = this.#readMonth(key);
      const { queries, blocks = [] } = counts;
      const open = blocks.find((block) => block.id === id);
      if (open !== undefined) return open.granted;
      const granted = Math.min(count, Math.max(0, limit - queries));
      if (granted === 0) return 0;
      const block: QueryBlock = { id, node, granted };
      this.#months.putSync(key, encodeRow({ ...counts, queries: queries + granted, blocks: [...blocks, block] }));
      return granted;
    });
  }

  async closeBlock(accountId: string, month: string, id: string, used: number): Promise<boolean> {
    const key = monthKey(accountId, month);
    return this.#env.write(() => {
      const counts = this.#readMonth(key);
      const { queries, blocks = [] } = counts;
      const open = blocks.find((block) => block.id === id);
      if (open === undefined) return false;
      const unused = Math.max(0, open.granted - used);
      const left = blocks.filter((block) => block !== open);
      this.#months.putSync(key, encodeRow({ ...counts, queries: Math.max(0, queries - unused), blocks: left }));
      return true;
    });
  }

  async readHolds(accountId: string): Promise<WriteHolds> {
    return this.#env.read(() => this.#readHolds(idPart(accountId)));
  }

  async replaceHolds(accountId: string, next: WriteHolds): Promise<boolean> {
    const key = idPart(accountId);
    return this.#env.write(() => {
      if (this.#readHolds(key).revision !== next.revision - 1) return false;
      this.#holds.putSync(key, encodeRow(next));
      return true;
    });
  }

  /** Adds an entry's tally; part of the write operation that commits the entry. */
  count({ shard, tally }: LogEntry): void {
    if (tally === null) return;
    const { accountId, month, writes, vectors } = tally;
    const key = monthKey(accountId, month);
    const account = idPart(accountId);
    const collection = idPart(parseShardKey(shard).collectionId);
    // All that can throw comes before the first put.
    const counts = this.#readMonth(key);
    const stored = this.#readVectors(account) ?? 0;
    const share = this.#readShare(collection)?.vectors ?? 0;
    if (writes !== 0) this.#months.putSync(key, encodeRow({ ...counts, writes: counts.writes + writes }));
    if (vectors === 0) return;
    this.#vectors.putSync(account, encodeRow({ vectors: stored + vectors }));
    this.#shares.putSync(collection, encodeRow({ accountId, vectors: share + vectors } satisfies Share));
  }

  /** Takes a dropped collection's share off its account; part of a write operation. Its second call finds no share. */
  takeOffShare(collectionId: string): void {
    const collection = idPart(collectionId);
    const share = this.#readShare(collection);
    if (share === null) return;
    const account = idPart(share.accountId);
    const vectors = this.#readVectors(account);
    // The account may have been deleted first, and its count with it.
    if (vectors !== null) this.#vectors.putSync(account, encodeRow({ vectors: vectors - share.vectors }));
    this.#shares.removeSync(collection);
  }

  /** Removes all counts of an account; part of a write operation. */
  forget(accountId: string): void {
    const account = idPart(accountId);
    const months = [...this.#months.getKeys(prefixRange(account))].map((key) => Buffer.from(key));
    for (const key of months) this.#months.removeSync(key);
    this.#vectors.removeSync(account);
    this.#holds.removeSync(account);
  }

  #readMonth(key: Buffer): MonthCounts {
    const value = this.#months.getBinary(key);
    if (value === undefined) return { writes: 0, queries: 0 };
    const counts = decodeRow<MonthCounts>(value, 'A usage row');
    const { writes, queries, blocks = [] } = counts;
    const isSound = Number.isSafeInteger(writes) && Number.isSafeInteger(queries) && Array.isArray(blocks);
    if (!isSound) throw damaged('A usage row');
    return counts;
  }

  #readVectors(account: Buffer): number | null {
    const value = this.#vectors.getBinary(account);
    if (value === undefined) return null;
    const { vectors } = decodeRow<{ vectors: number }>(value, "An account's vector count");
    if (!Number.isSafeInteger(vectors)) throw damaged("An account's vector count");
    return vectors;
  }

  #readHolds(account: Buffer): WriteHolds {
    const value = this.#holds.getBinary(account);
    if (value === undefined) return { revision: 0, holds: [], alone: null, line: [] };
    const row = decodeRow<WriteHolds>(value, 'Writes under way');
    const isSound = Number.isSafeInteger(row.revision) && Array.isArray(row.holds) && Array.isArray(row.line);
    if (!isSound) throw damaged('Writes under way');
    return row;
  }

  #readShare(collection: Buffer): Share | null {
    const value = this.#shares.getBinary(collection);
    return value === undefined ? null : decodeRow<Share>(value, "A collection's vector count");
  }
}

function monthKey(accountId: string, month: string): Buffer {
  return Buffer.concat([idPart(accountId), Buffer.from(month)]);
}
