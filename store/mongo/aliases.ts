/**
 * Aliases are documents of `collections` in the state 'alias'. The unique index on `place` decides
 * who owns a name; `slot` holds the alias's own id.
 *
 * Guarantees: of a concurrent put of an alias and drop of its collection, one is refused. A put
 * inserts the alias and then sets a new `aliasMark` in the live collection. A drop reads the mark,
 * looks for aliases, and drops the collection only if the mark is unchanged. So either the drop
 * sees the alias or a new mark, or the put finds no live collection and undoes its insert. On
 * failure: a put that crashes between the two steps can leave an alias that a drop missed.
 */

import { randomUUID } from 'node:crypto';
import type { Collection } from 'mongodb';
import type { AccountId, CollectionId } from '../../lib/ids.ts';
import type { AliasRow, StoredAliases } from '../aliases.ts';
import { pageOf, type RowPage } from '../page.ts';
import type { Sealed } from '../sealed.ts';
import type { Connection } from './connection.ts';
import { rowIn } from './document-form.ts';
import { type IdPart, idPart, joined } from './document-id.ts';
import { nullOnDuplicate } from './store-failure.ts';

export interface AliasDocument {
  _id: string;
  state: 'alias';
  account: IdPart;
  place: string;
  slot: string;
  row: Sealed<AliasRow>;
}

/** The fields of a collection that this file uses; catalog.ts has the rest. */
interface MarkedDocument {
  _id: string;
  state: string;
  aliasMark?: string;
}

export class MongoAliases implements StoredAliases {
  readonly #documents: Collection<AliasDocument>;
  readonly #collections: Collection<MarkedDocument>;

  constructor(connection: Connection) {
    this.#documents = connection.collection('collections');
    this.#collections = connection.collection('collections');
  }

  async insert(
    row: Sealed<AliasRow>,
    maxAliases: number,
  ): Promise<'created' | 'alias' | 'collection' | 'limit' | 'no target'> {
    const [_id, account, place] = [idPart(row.id), idPart(row.accountId), placeOf(row.accountId, row.alias)];
    for (;;) {
      const taken = await this.#documents.findOne({ place }, { projection: { state: 1 } });
      if (taken !== null) return taken.state === 'alias' ? 'alias' : 'collection';
      if ((await this.#documents.countDocuments({ account, state: 'alias' })) >= maxAliases) return 'limit';
      const document = { _id, state: 'alias' as const, account, place, slot: _id, row: { ...row } };
      if ((await nullOnDuplicate(this.#documents.insertOne(document))) !== null) {
        if (await this.#mark(row.collectionId)) return 'created';
        await this.remove(row.accountId, row.alias, row.seal);
        return 'no target';
      }
      if ((await this.#documents.findOne({ _id })) !== null)
        throw new RangeError('the id of the alias is already taken');
      // Another writer took the name: look again.
    }
  }

  async find(accountId: AccountId, alias: string): Promise<Sealed<AliasRow> | null> {
    const found = await this.#documents.findOne({ place: placeOf(accountId, alias), state: 'alias' });
    return found && sealable(rowIn(found));
  }

  async page(
    accountId: AccountId,
    after: string | null,
    limit: number,
    collectionId?: CollectionId,
  ): Promise<RowPage<Sealed<AliasRow>, string>> {
    const own = { account: idPart(accountId), state: 'alias' as const, 'row.alias': { $gt: after ?? '' } };
    const target = collectionId === undefined ? {} : { 'row.collectionId': collectionId };
    const found = await this.#documents
      .find({ ...own, ...target })
      .sort({ 'row.alias': 1 })
      .limit(limit + 1)
      .toArray();
    return pageOf(
      found.map((document) => sealable(rowIn(document))),
      limit,
      ({ alias }) => alias,
    );
  }

  async replace(row: Sealed<AliasRow>, before: Sealed<AliasRow>): Promise<'replaced' | 'changed' | 'no target'> {
    if (!(await this.#swap(before, row))) return 'changed';
    if (await this.#mark(row.collectionId)) return 'replaced';
    if ((await this.#swap(row, before)) && !(await this.#mark(before.collectionId)))
      await this.remove(before.accountId, before.alias, before.seal);
    return 'no target';
  }

  async existsFor(accountId: AccountId, collectionId: CollectionId, besides: readonly string[]): Promise<boolean> {
    const filter = { 'row.collectionId': collectionId, 'row.seal': { $nin: besides } };
    const found = await this.#documents.findOne({ account: idPart(accountId), state: 'alias', ...filter });
    return found !== null;
  }

  async remove(accountId: AccountId, alias: string, seal: string): Promise<boolean> {
    const filter = { place: placeOf(accountId, alias), state: 'alias' as const };
    const sealed = seal === '' ? { 'row.seal': { $not: { $gt: '' } } } : { 'row.seal': seal };
    return (await this.#documents.deleteOne({ ...filter, ...sealed })).deletedCount > 0;
  }

  async #swap(from: Sealed<AliasRow>, to: Sealed<AliasRow>): Promise<boolean> {
    const filter = { place: placeOf(from.accountId, from.alias), state: 'alias' as const, 'row.seal': from.seal };
    const $set = { 'row.collectionId': to.collectionId, 'row.seal': to.seal };
    return (await this.#documents.updateOne(filter, { $set })).matchedCount > 0;
  }

  /**
   * Returns whether the collection is live. Makes a drop fail that has already looked for aliases.
   */
  async #mark(collectionId: CollectionId): Promise<boolean> {
    const live = { _id: idPart(collectionId), state: 'live' };
    return (await this.#collections.updateOne(live, { $set: { aliasMark: randomUUID() } })).matchedCount > 0;
  }

  /** Removes the aliases of a deleted account. */
  async forget(account: IdPart): Promise<void> {
    await this.#documents.deleteMany({ account, state: 'alias' });
  }
}

const placeOf = (accountId: AccountId, alias: string): string => joined(idPart(accountId), idPart(alias));

/** Replaces a seal that is not a string with ''. */
function sealable(row: Sealed<AliasRow>): Sealed<AliasRow> {
  return typeof row.seal === 'string' ? row : { ...row, seal: '' };
}
