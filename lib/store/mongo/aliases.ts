/**
 * Aliases lie among the collections, in the state 'alias': the unique index on `place` decides who
 * has a name, and the one on `slot` has their own ids.
 */
import type { Collection } from 'mongodb';
import type { AliasRow, StoredAliases } from '../aliases.ts';
import type { Sealed } from '../sealed.ts';
import type { Connection } from './connection.ts';
import { idPart, joined } from './document-id.ts';
import { unlessTaken } from './store-failure.ts';

/** An alias as stored. */
export interface AliasDocument {
  _id: string;
  state: 'alias';
  account: string;
  place: string;
  slot: string;
  row: Sealed<AliasRow>;
}

export class MongoAliases implements StoredAliases {
  readonly #documents: Collection<AliasDocument>;

  constructor(connection: Connection) {
    this.#documents = connection.collection('collections');
  }

  async insert(row: Sealed<AliasRow>, maxAliases: number): Promise<'created' | 'alias' | 'collection' | 'limit'> {
    const [_id, account, place] = [idPart(row.id), idPart(row.accountId), placeOf(row.accountId, row.alias)];
    for (;;) {
      const taken = await this.#documents.findOne({ place } as object, { projection: { state: 1 } });
      if (taken !== null) return taken.state === 'alias' ? 'alias' : 'collection';
      if ((await this.#documents.countDocuments({ account, state: 'alias' })) >= maxAliases) return 'limit';
      const document = { _id, state: 'alias' as const, account, place, slot: _id, row: { ...row } };
      if ((await unlessTaken(this.#documents.insertOne(document))) !== null) return 'created';
      if ((await this.#documents.findOne({ _id })) !== null) throw new RangeError('the id of an alias is new');
      // Another took the name.
    }
  }

  async find(accountId: string, alias: string): Promise<Sealed<AliasRow> | null> {
    const found = await this.#documents.findOne({ place: placeOf(accountId, alias), state: 'alias' });
    return found?.row ?? null;
  }

  async list(accountId: string): Promise<Sealed<AliasRow>[]> {
    const found = await this.#documents.find({ account: idPart(accountId), state: 'alias' }).toArray();
    return found.map(({ row }) => row);
  }

  async replace({ accountId, alias, collectionId, seal }: Sealed<AliasRow>, before: string): Promise<boolean> {
    const filter = { place: placeOf(accountId, alias), state: 'alias' as const, 'row.seal': before };
    const $set = { 'row.collectionId': collectionId, 'row.seal': seal };
    return (await this.#documents.updateOne(filter, { $set })).matchedCount > 0;
  }

  async remove(accountId: string, alias: string, seal: string): Promise<boolean> {
    const filter = { place: placeOf(accountId, alias), state: 'alias' as const, 'row.seal': seal };
    return (await this.#documents.deleteOne(filter)).deletedCount > 0;
  }

  /** Those of an account that is gone; `account`: its part of ids. */
  async forget(account: string): Promise<void> {
    await this.#documents.deleteMany({ account, state: 'alias' });
  }
}

const placeOf = (accountId: string, alias: string): string => joined(idPart(accountId), idPart(alias));
