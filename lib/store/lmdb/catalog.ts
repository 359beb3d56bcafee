import type { PlanName } from '../../plans.ts';
import type { AccountRow, Catalog, CollectionRow } from '../catalog.ts';
import type { Environment, Table } from './environment.ts';
import type { LmdbKeys } from './keys.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { idPart, keyAfter, lastNumber, numberPart, prefixRange } from './row-key.ts';
import type { LmdbUsage } from './usage.ts';

const PAGE_ROWS = 500;

/** A row with its place in the order of creation, which breaks ties of `createdAt`. */
type Placed<Row> = Row & { place: number };

/** Tables: collection -> row; account + hash of name -> collection id; dropped collection -> row; account -> row; places. */
export class LmdbCatalog implements Catalog {
  readonly #env: Environment;
  readonly #collections: Table;
  readonly #names: Table;
  readonly #dropped: Table;
  readonly #accounts: Table;
  readonly #places: Table;
  readonly #keys: LmdbKeys;
  readonly #usage: LmdbUsage;

  constructor(env: Environment, keys: LmdbKeys, usage: LmdbUsage) {
    this.#env = env;
    this.#keys = keys;
    this.#usage = usage;
    this.#collections = env.table('collections');
    this.#names = env.table('collection-names');
    this.#dropped = env.table('dropped-collections');
    this.#accounts = env.table('accounts');
    this.#places = env.table('places');
  }

  async createCollection(row: CollectionRow, maxCollections: number | null): Promise<'created' | 'exists' | 'limit'> {
    const account = idPart(row.accountId);
    const name = Buffer.concat([account, idPart(row.name)]);
    const key = idPart(row.id);
    return this.#env.write(() => {
      if (this.#names.doesExist(name)) return 'exists';
      if (maxCollections !== null && this.#count(account) >= maxCollections) return 'limit';
      if (this.#collections.doesExist(key) || this.#dropped.doesExist(key))
        throw new RangeError('the id of a collection is new');
      this.#names.putSync(name, Buffer.from(row.id));
      this.#collections.putSync(key, encodeRow({ ...row, place: this.#nextPlace() }));
      return 'created';
    });
  }

  async findCollection(accountId: string, name: string): Promise<CollectionRow | null> {
    return this.#env.read(() => {
      const id = this.#names.getBinary(Buffer.concat([idPart(accountId), idPart(name)]));
      return id === undefined ? null : this.#row(Buffer.from(id).toString());
    });
  }

  async getCollection(id: string): Promise<CollectionRow | null> {
    return this.#env.read(() => this.#row(id));
  }

  async listCollections(accountId: string): Promise<CollectionRow[]> {
    return this.#env.read(() => {
      const rows: Placed<CollectionRow>[] = [];
      for (const { value } of this.#names.getRange(prefixRange(idPart(accountId)))) {
        const bytes = this.#collections.getBinary(idPart(Buffer.from(value).toString()));
        if (bytes !== undefined) rows.push(decodeRow(bytes, 'A collection'));
      }
      return rows.sort(newestFirst).map(withoutPlace);
    });
  }

  async countCollections(accountId: string): Promise<number> {
    return this.#env.read(() => this.#count(idPart(accountId)));
  }

  async *allCollections(): AsyncIterable<CollectionRow[]> {
    let start: Buffer | null = Buffer.of(0);
    while (start !== null) {
      const from: Buffer = start;
      const page = this.#env.read(() =>
        [...this.#collections.getRange({ start: from, limit: PAGE_ROWS })].map(({ key, value }) => ({
          key: Buffer.from(key),
          row: withoutPlace(decodeRow<Placed<CollectionRow>>(value, 'A collection')),
        })),
      );
      if (page.length > 0) yield page.map(({ row }) => row);
      start = page.length === PAGE_ROWS ? keyAfter(page[PAGE_ROWS - 1].key) : null;
    }
  }

  async setDeletionProtection(id: string, deletionProtection: boolean): Promise<CollectionRow | null> {
    const key = idPart(id);
    return this.#env.write(() => {
      const bytes = this.#collections.getBinary(key);
      if (bytes === undefined) return null;
      const row = { ...decodeRow<Placed<CollectionRow>>(bytes, 'A collection'), deletionProtection };
      this.#collections.putSync(key, encodeRow(row));
      return withoutPlace(row);
    });
  }

  async dropCollection(id: string, evenProtected = true): Promise<boolean> {
    const key = idPart(id);
    return this.#env.write(() => {
      const bytes = this.#collections.getBinary(key);
      if (bytes === undefined) return false;
      const row = decodeRow<CollectionRow>(bytes, 'A collection');
      if (row.deletionProtection && !evenProtected) return false;
      this.#names.removeSync(Buffer.concat([idPart(row.accountId), idPart(row.name)]));
      this.#collections.removeSync(key);
      this.#dropped.putSync(key, bytes);
      return true;
    });
  }

  async listDropped(): Promise<CollectionRow[]> {
    return this.#env.read(() =>
      [...this.#dropped.getRange()].map(({ value }) =>
        withoutPlace(decodeRow<Placed<CollectionRow>>(value, 'A collection')),
      ),
    );
  }

  async forgetDropped(id: string): Promise<void> {
    await this.#env.write(() => this.#dropped.removeSync(idPart(id)));
  }

  async createAccount(row: AccountRow): Promise<void> {
    const key = idPart(row.id);
    await this.#env.write(() => {
      if (this.#accounts.doesExist(key)) throw new RangeError('the id of an account is new');
      this.#accounts.putSync(key, encodeRow({ ...row, place: this.#nextPlace() }));
    });
  }

  async getAccount(id: string): Promise<AccountRow | null> {
    return this.#env.read(() => {
      const bytes = this.#accounts.getBinary(idPart(id));
      return bytes === undefined ? null : withoutPlace(decodeRow<Placed<AccountRow>>(bytes, 'An account'));
    });
  }

  async listAccounts(): Promise<AccountRow[]> {
    return this.#env.read(() =>
      [...this.#accounts.getRange()]
        .map(({ value }) => decodeRow<Placed<AccountRow>>(value, 'An account'))
        .sort((a, b) => newestFirst(b, a))
        .map(withoutPlace),
    );
  }

  async setPlan(id: string, plan: PlanName): Promise<AccountRow | null> {
    const key = idPart(id);
    return this.#env.write(() => {
      const bytes = this.#accounts.getBinary(key);
      if (bytes === undefined) return null;
      const row = { ...decodeRow<Placed<AccountRow>>(bytes, 'An account'), plan };
      this.#accounts.putSync(key, encodeRow(row));
      return withoutPlace(row);
    });
  }

  async deleteAccount(id: string): Promise<boolean> {
    const key = idPart(id);
    return this.#env.write(() => {
      if (!this.#accounts.doesExist(key)) return false;
      if (this.#count(key) > 0) throw new RangeError('an account to delete owns no collections');
      this.#keys.forget(id);
      this.#usage.forget(id);
      this.#accounts.removeSync(key);
      return true;
    });
  }

  #row(id: string): CollectionRow | null {
    const bytes = this.#collections.getBinary(idPart(id));
    return bytes === undefined ? null : withoutPlace(decodeRow<Placed<CollectionRow>>(bytes, 'A collection'));
  }

  #count(account: Buffer): number {
    return this.#names.getKeysCount(prefixRange(account));
  }

  #nextPlace(): number {
    const key = Buffer.of(1);
    const last = this.#places.getBinary(key);
    const place = last === undefined ? 1 : lastNumber(last) + 1;
    this.#places.putSync(key, numberPart(place));
    return place;
  }
}

function withoutPlace<Row extends object>({ place: _, ...row }: Placed<Row>): Row {
  return row as unknown as Row;
}

function newestFirst(a: Placed<{ createdAt: string }>, b: Placed<{ createdAt: string }>): number {
  return Date.parse(b.createdAt) - Date.parse(a.createdAt) || b.place - a.place;
}
