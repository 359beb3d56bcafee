/**
 * Collections and accounts. Values that must be unique are strings under a unique index in the
 * row's own document, so that one insert takes them and one update frees them:
 * - `place`: account and name while the collection lives, then its own id.
 * - `slot`: if the account has a limit, account and a slot number (see collection-slots.ts), so
 *   that the limit is exact without a separate count. Otherwise, and after the drop, its own id.
 */

import type { Collection, Filter } from 'mongodb';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import type {
  AccountRow,
  AccountState,
  CollectionRow,
  CreateOutcome,
  StoredAccount,
  StoredCatalog,
} from '../catalog.ts';
import { type Position, pageOf, positionOf, type RowPage } from '../page.ts';
import type { Sealed } from '../sealed.ts';
import type { MongoAliases } from './aliases.ts';
import { freeSlots } from './collection-slots.ts';
import type { Connection } from './connection.ts';
import { rowIn } from './document-form.ts';
import { type IdPart, idPart, joined } from './document-id.ts';
import type { MongoKeys } from './keys.ts';
import { pagesOf } from './slices.ts';
import { nullOnDuplicate } from './store-failure.ts';
import type { MongoUsage } from './usage.ts';

const PAGE_ROWS = 500;

export interface CollectionDocument {
  _id: string;
  state: 'live' | 'dropped';
  account: IdPart;
  place: string;
  slot: string;
  /** Changes whenever an alias of the collection is put (see aliases.ts). */
  aliasMark?: string;
  row: Sealed<CollectionRow>;
}

export interface AccountDocument {
  _id: IdPart;
  /** Ignored unless the row's seal confirms it. */
  deleting?: true;
  row: Sealed<AccountRow>;
}

/** Any value of `deleting` counts, even a malformed one. */
export function stateOf({ deleting }: AccountDocument): AccountState {
  return deleting === undefined ? 'live' : 'deleting';
}

export class MongoCatalog implements StoredCatalog {
  readonly #connection: Connection;
  readonly #collections: Collection<CollectionDocument>;
  readonly #accounts: Collection<AccountDocument>;
  readonly #aliases: MongoAliases;
  readonly #keys: MongoKeys;
  readonly #usage: MongoUsage;

  constructor(
    connection: Connection,
    { aliases, keys, usage }: { aliases: MongoAliases; keys: MongoKeys; usage: MongoUsage },
  ) {
    this.#connection = connection;
    this.#aliases = aliases;
    this.#keys = keys;
    this.#usage = usage;
    this.#collections = connection.collection('collections');
    this.#accounts = connection.collection('accounts');
  }

  async createCollection(row: Sealed<CollectionRow>, maxCollections: number | null): Promise<CreateOutcome> {
    const [_id, account] = [idPart(row.id), idPart(row.accountId)];
    const place = joined(account, idPart(row.name));
    const document = { _id, state: 'live' as const, account, place, row: { ...row } };
    for (;;) {
      const slot = maxCollections === null ? _id : await this.#freeSlot(account, place, maxCollections);
      if (slot === 'exists' || slot === 'alias' || slot === 'limit') return slot;
      if ((await nullOnDuplicate(this.#collections.insertOne({ ...document, slot }))) !== null) return 'created';
      const holder = await this.#holderOf(place);
      if (holder !== null) return holder;
      if ((await this.#collections.findOne({ _id })) !== null)
        throw new RangeError('the id of the collection is already taken');
      // Another creator took the slot.
    }
  }

  async findCollection(accountId: AccountId, name: string): Promise<Sealed<CollectionRow> | null> {
    const found = await this.#collections.findOne({ place: joined(idPart(accountId), idPart(name)) });
    return found === null || isAlias(found) ? null : rowIn(found);
  }

  async getCollection(id: CollectionId): Promise<Sealed<CollectionRow> | null> {
    const found = await this.#collections.findOne({ _id: idPart(id) });
    return found?.state === 'live' ? rowIn(found) : null;
  }

  async collectionsPage(
    accountId: AccountId,
    after: Position | null,
    limit: number,
  ): Promise<RowPage<Sealed<CollectionRow>>> {
    const own = { account: idPart(accountId), state: 'live' as const };
    const found = await this.#collections
      .find({ ...own, ...beyond(after, '$lt') })
      .sort(byAge(-1))
      .limit(limit + 1)
      .toArray();
    return pageOf(found.map(rowIn), limit, positionOf);
  }

  async countCollections(accountId: AccountId): Promise<number> {
    return this.#collections.countDocuments({ account: idPart(accountId), state: 'live' });
  }

  async *allCollections(): AsyncIterable<Sealed<CollectionRow>[]> {
    const pages = pagesOf(this.#connection, this.#collections, { state: 'live' }, PAGE_ROWS);
    for await (const page of pages) yield page.map(rowIn);
  }

  async replaceCollection(row: Sealed<CollectionRow>, before: string): Promise<boolean> {
    const { id, deletionProtection, seal, tags } = row;
    const filter = { _id: idPart(id), state: 'live' as const, 'row.seal': before };
    const $set = { 'row.deletionProtection': deletionProtection, 'row.seal': seal };
    const update =
      tags === undefined ? { $set, $unset: { 'row.tags': true as const } } : { $set: { ...$set, 'row.tags': tags } };
    return (await this.#collections.updateOne(filter, update)).matchedCount > 0;
  }

  async dropCollection(
    { id, accountId, seal }: Sealed<CollectionRow>,
    droppedSeal: string,
    besides: readonly string[] | null,
  ): Promise<boolean> {
    const _id = idPart(id);
    let filter: Filter<CollectionDocument> = { _id, state: 'live', 'row.seal': seal };
    if (besides !== null) {
      const found = await this.#collections.findOne(filter, { projection: { aliasMark: 1 } });
      if (found === null || (await this.#aliases.existsFor(accountId, id, besides))) return false;
      const { aliasMark } = found;
      filter = { ...filter, aliasMark: aliasMark === undefined ? { $exists: false } : { $eq: aliasMark } };
    }
    const $set = { state: 'dropped' as const, place: _id, slot: _id, 'row.seal': droppedSeal };
    return (await this.#collections.updateOne(filter, { $set })).matchedCount > 0;
  }

  async listDropped(): Promise<Sealed<CollectionRow>[]> {
    const found = await this.#collections.find({ state: 'dropped' }).sort({ _id: 1 }).toArray();
    return found.map(rowIn);
  }

  async forgetDropped(id: CollectionId): Promise<void> {
    await this.#collections.deleteOne({ _id: idPart(id), state: 'dropped' });
  }

  async createAccount(row: Sealed<AccountRow>): Promise<void> {
    const _id = idPart(row.id);
    // Only the first account is created again under its id, if an earlier version deleted it after
    // a refused first start. This step comes before the insert, because a crash in between must not
    // leave an account whose usage is not counted.
    await this.#usage.revive(_id);
    const made = await nullOnDuplicate(this.#accounts.insertOne({ _id, row: { ...row } }));
    if (made === null) throw new RangeError('the id of the account is already taken');
  }

  async getAccount(id: AccountId): Promise<StoredAccount | null> {
    const found = await this.#accounts.findOne({ _id: idPart(id) });
    return found && accountOf(found);
  }

  async accountsPage(after: Position | null, limit: number): Promise<RowPage<StoredAccount>> {
    const found = await this.#accounts
      .find(beyond(after, '$gt'))
      .sort(byAge(1))
      .limit(limit + 1)
      .toArray();
    return pageOf(found.map(accountOf), limit, positionOf);
  }

  async hasAccountOfPlan(plan: string): Promise<boolean> {
    return (await this.#accounts.findOne({ 'row.plan': plan }, { projection: { _id: 1 } })) !== null;
  }

  async replaceAccount({ id, plan, seal }: Sealed<AccountRow>, before: string): Promise<boolean> {
    const filter = { _id: idPart(id), deleting: { $exists: false }, 'row.seal': before };
    const $set = { 'row.plan': plan, 'row.seal': seal };
    return (await this.#accounts.updateOne(filter, { $set })).matchedCount > 0;
  }

  async deleteAccount(id: AccountId, seal: string, deletingSeal: string): Promise<boolean> {
    const _id = idPart(id);
    const owned = { account: _id, state: 'live' as const };
    // Once deletion has begun, leftover documents must not block it.
    if (seal !== deletingSeal && (await this.#collections.findOne(owned)) !== null)
      throw new RangeError('the account to delete still owns collections');
    const $set = { deleting: true as const, 'row.seal': deletingSeal };
    const { matchedCount } = await this.#accounts.updateOne({ _id, 'row.seal': seal }, { $set });
    if (matchedCount === 0) return false;
    await this.#aliases.forget(_id);
    await this.#keys.remove(_id);
    await this.#usage.forget(_id);
    return (await this.#accounts.deleteOne({ _id })).deletedCount > 0;
  }

  async #holderOf(place: string): Promise<'exists' | 'alias' | null> {
    const found = await this.#collections.findOne({ place }, { projection: { state: 1 } });
    if (found === null) return null;
    return isAlias(found) ? 'alias' : 'exists';
  }

  async #freeSlot(account: IdPart, place: string, max: number): Promise<string> {
    const holder = await this.#holderOf(place);
    if (holder !== null) return holder;
    const live = await this.#collections
      .find({ account, state: 'live' })
      .project<{ slot: string }>({ slot: 1 })
      .toArray();
    const taken = live.map(({ slot }) =>
      String(slot).startsWith(`${account}.`) ? Number(slot.slice(account.length + 1)) : null,
    );
    const free = freeSlots(taken, max);
    // A random choice keeps concurrent creators from competing for the same slot.
    return free.length === 0 ? 'limit' : joined(account, String(free[Math.floor(Math.random() * free.length)]));
  }
}

/** The collection also holds aliases (aliases.ts). */
const isAlias = ({ state }: { state: string }): boolean => state === 'alias';

function accountOf(document: AccountDocument): StoredAccount {
  return { ...rowIn(document), state: stateOf(document) };
}

const byAge = (direction: 1 | -1) => ({ 'row.createdAt': direction, 'row.id': direction });

/**
 * Selects what comes after a position in that order. Skips rows whose fields are not strings,
 * because the database does not compare values of different types.
 */
function beyond(after: Position | null, comparison: '$lt' | '$gt'): object {
  if (after === null) return { 'row.createdAt': { $gt: '' }, 'row.id': { $gt: '' } };
  const { createdAt, id } = after;
  const sameInstant = { 'row.createdAt': createdAt, 'row.id': { [comparison]: id } };
  const later = { 'row.createdAt': { [comparison]: createdAt }, 'row.id': { $gt: '' } };
  return { $or: [later, sameInstant] };
}
