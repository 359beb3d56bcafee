/**
 * Collections and accounts. What must be unique is a string under a unique index, in the row's own
 * document, so that one insert takes it and one update gives it back:
 * - `place`: account and name while the collection lives, its own id from then on.
 * - `slot`: where the account has a limit, account and one of the slot numbers (see
 *   collection-slots.ts), so that the limit is exact without a count that others could overtake;
 *   else, and from its drop on, its own id.
 */
import type { Collection } from 'mongodb';
import type { AccountRow, AccountState, CollectionRow, StoredAccount, StoredCatalog } from '../catalog.ts';
import type { Sealed } from '../sealed.ts';
import { freeSlots } from './collection-slots.ts';
import type { Connection } from './connection.ts';
import { idPart, joined } from './document-id.ts';
import type { MongoKeys } from './keys.ts';
import { pagesOf } from './slices.ts';
import { isDuplicateKey } from './store-failure.ts';
import type { MongoUsage } from './usage.ts';

const PAGE_ROWS = 500;

/** A collection as stored. */
export interface CollectionDocument {
  _id: string;
  state: 'live' | 'dropped';
  account: string;
  place: string;
  slot: string;
  row: Sealed<CollectionRow>;
}

/** An account as stored. */
export interface AccountDocument {
  _id: string;
  /** What it says counts only where the row's seal says the same. */
  deleting?: true;
  row: Sealed<AccountRow>;
}

/** Whatever stands in the place of the mark is one. */
export function stateOf({ deleting }: AccountDocument): AccountState {
  return deleting === undefined ? 'live' : 'deleting';
}

export class MongoCatalog implements StoredCatalog {
  readonly #connection: Connection;
  readonly #collections: Collection<CollectionDocument>;
  readonly #accounts: Collection<AccountDocument>;
  readonly #keys: MongoKeys;
  readonly #usage: MongoUsage;

  constructor(connection: Connection, keys: MongoKeys, usage: MongoUsage) {
    this.#connection = connection;
    this.#keys = keys;
    this.#usage = usage;
    this.#collections = connection.collection('collections');
    this.#accounts = connection.collection('accounts');
  }

  async open(): Promise<void> {
    await this.#collections.createIndex({ place: 1 }, { unique: true });
    await this.#collections.createIndex({ slot: 1 }, { unique: true });
    await this.#collections.createIndex({ account: 1, state: 1 });
    await this.#collections.createIndex({ state: 1 });
  }

  async createCollection(
    row: Sealed<CollectionRow>,
    maxCollections: number | null,
  ): Promise<'created' | 'exists' | 'limit'> {
    const [_id, account] = [idPart(row.id), idPart(row.accountId)];
    const place = joined(account, idPart(row.name));
    const document = { _id, state: 'live' as const, account, place, row: { ...row } };
    return this.#connection.run('write', 'creating a collection', async () => {
      for (;;) {
        const slot = maxCollections === null ? _id : await this.#freeSlot(account, place, maxCollections);
        if (slot === 'exists' || slot === 'limit') return slot;
        try {
          await this.#collections.insertOne({ ...document, slot });
          return 'created';
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
        }
        if (await this.#isPlaceTaken(place)) return 'exists';
        if ((await this.#collections.findOne({ _id })) !== null) throw new RangeError('the id of a collection is new');
        // Another took the slot.
      }
    });
  }

  async findCollection(accountId: string, name: string): Promise<Sealed<CollectionRow> | null> {
    const place = joined(idPart(accountId), idPart(name));
    return this.#connection.run('read', 'reading a collection', async () => {
      const found = await this.#collections.findOne({ place });
      return found?.row ?? null;
    });
  }

  async getCollection(id: string): Promise<Sealed<CollectionRow> | null> {
    const _id = idPart(id);
    return this.#connection.run('read', 'reading a collection', async () => {
      const found = await this.#collections.findOne({ _id });
      return found?.state === 'live' ? found.row : null;
    });
  }

  async listCollections(accountId: string): Promise<Sealed<CollectionRow>[]> {
    const account = idPart(accountId);
    return this.#connection.run('read', 'listing collections', async () => {
      const found = await this.#collections.find({ account, state: 'live' }).toArray();
      return found.map(({ row }) => row).sort(newestFirst);
    });
  }

  async countCollections(accountId: string): Promise<number> {
    const account = idPart(accountId);
    return this.#connection.run('read', 'counting collections', () =>
      this.#collections.countDocuments({ account, state: 'live' }),
    );
  }

  async *allCollections(): AsyncIterable<Sealed<CollectionRow>[]> {
    const pages = pagesOf(this.#connection, this.#collections, { state: 'live' }, PAGE_ROWS);
    for await (const page of pages) yield page.map(({ row }) => row);
  }

  async replaceCollection({ id, deletionProtection, seal }: Sealed<CollectionRow>, before: string): Promise<boolean> {
    const filter = { _id: idPart(id), state: 'live' as const, 'row.seal': before };
    const $set = { 'row.deletionProtection': deletionProtection, 'row.seal': seal };
    return this.#connection.run(
      'write',
      'changing a collection',
      async () => (await this.#collections.updateOne(filter, { $set })).matchedCount > 0,
    );
  }

  async dropCollection(id: string, seal: string, droppedSeal: string): Promise<boolean> {
    const _id = idPart(id);
    const filter = { _id, state: 'live' as const, 'row.seal': seal };
    const $set = { state: 'dropped' as const, place: _id, slot: _id, 'row.seal': droppedSeal };
    return this.#connection.run(
      'write',
      'dropping a collection',
      async () => (await this.#collections.updateOne(filter, { $set })).matchedCount > 0,
    );
  }

  async listDropped(): Promise<Sealed<CollectionRow>[]> {
    return this.#connection.run('read', 'listing collections', async () => {
      const found = await this.#collections.find({ state: 'dropped' }).sort({ _id: 1 }).toArray();
      return found.map(({ row }) => row);
    });
  }

  async forgetDropped(id: string): Promise<void> {
    const _id = idPart(id);
    await this.#connection.run('write', 'forgetting a collection', () =>
      this.#collections.deleteOne({ _id, state: 'dropped' }),
    );
  }

  async createAccount(row: Sealed<AccountRow>): Promise<void> {
    const _id = idPart(row.id);
    await this.#connection.run('write', 'creating an account', async () => {
      try {
        await this.#accounts.insertOne({ _id, row: { ...row } });
      } catch (error) {
        if (isDuplicateKey(error)) throw new RangeError('the id of an account is new');
        throw error;
      }
    });
  }

  async getAccount(id: string): Promise<StoredAccount | null> {
    const _id = idPart(id);
    return this.#connection.run('read', 'reading an account', async () => {
      const found = await this.#accounts.findOne({ _id });
      return found && accountOf(found);
    });
  }

  async listAccounts(): Promise<StoredAccount[]> {
    return this.#connection.run('read', 'listing accounts', async () => {
      const found = await this.#accounts.find().toArray();
      return found.map(accountOf).sort((a, b) => newestFirst(b, a));
    });
  }

  async replaceAccount({ id, plan, seal }: Sealed<AccountRow>, before: string): Promise<boolean> {
    const filter = { _id: idPart(id), deleting: { $exists: false }, 'row.seal': before };
    const $set = { 'row.plan': plan, 'row.seal': seal };
    return this.#connection.run(
      'write',
      'changing an account',
      async () => (await this.#accounts.updateOne(filter, { $set })).matchedCount > 0,
    );
  }

  async deleteAccount(id: string, seal: string, deletingSeal: string): Promise<boolean> {
    const _id = idPart(id);
    const owned = { account: _id, state: 'live' as const };
    return this.#connection.run('write', 'deleting an account', async () => {
      // Once it is being deleted nothing that anybody puts in its place holds that up.
      if (seal !== deletingSeal && (await this.#collections.findOne(owned)) !== null)
        throw new RangeError('an account to delete owns no collections');
      const $set = { deleting: true as const, 'row.seal': deletingSeal };
      const { matchedCount } = await this.#accounts.updateOne({ _id, 'row.seal': seal }, { $set });
      if (matchedCount === 0) return false;
      await this.#keys.remove(_id);
      await this.#usage.forget(_id);
      return (await this.#accounts.deleteOne({ _id })).deletedCount > 0;
    });
  }

  async #isPlaceTaken(place: string): Promise<boolean> {
    return (await this.#collections.findOne({ place }, { projection: { _id: 1 } })) !== null;
  }

  async #freeSlot(account: string, place: string, max: number): Promise<string> {
    if (await this.#isPlaceTaken(place)) return 'exists';
    const live = await this.#collections
      .find({ account, state: 'live' })
      .project<{ slot: string }>({ slot: 1 })
      .toArray();
    const taken = live.map(({ slot }) =>
      slot.startsWith(`${account}.`) ? Number(slot.slice(account.length + 1)) : null,
    );
    const free = freeSlots(taken, max);
    // Creators that meet should not all want the same one.
    return free.length === 0 ? 'limit' : joined(account, String(free[Math.floor(Math.random() * free.length)]));
  }
}

function accountOf(document: AccountDocument): StoredAccount {
  return { ...document.row, state: stateOf(document) };
}

/** Rows of one instant are in the order of their ids, whatever that is. */
function newestFirst(a: { createdAt: string; id: string }, b: { createdAt: string; id: string }): number {
  return Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? 1 : -1);
}
