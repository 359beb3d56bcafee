import type { Collection } from 'mongodb';
import type { Seals } from '../../secret/seals.ts';
import { type KeyRow, revocationOf, type StoredKeys } from '../keys.ts';
import type { Sealed } from '../sealed.ts';
import { believedKeys } from '../sealed-keys.ts';
import type { Connection } from './connection.ts';
import { idPart } from './document-id.ts';
import { unlessTaken } from './store-failure.ts';

/** What one document holds with room to spare. */
const KEYS_MAX = 10_000;
const TOUCH_ATTEMPTS = 3;

/** All keys of one account. `revision` counts the changes of which keys there are. */
export interface AccountKeys {
  _id: string;
  revision: number;
  keys: Sealed<KeyRow>[];
  /**
   * What the keys are found by, unique over all accounts. Never empty: an empty array would count
   * as a value of its own.
   */
  lookups: string[];
}

/**
 * The keys of an account lie in one document, so that what must hold of all of them (a limit; one
 * that can manage stays) is a compare-and-set of that document: read, decide, and write if the
 * revision is what it was. An account has at most KEYS_MAX.
 */
export class MongoKeys implements StoredKeys {
  readonly #connection: Connection;
  readonly #accounts: Collection<AccountKeys>;
  readonly #seals: Seals;

  constructor(connection: Connection, seals: Seals) {
    this.#connection = connection;
    this.#seals = seals;
    this.#accounts = connection.collection('account-keys');
  }

  async create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'> {
    const _id = idPart(row.accountId);
    for (;;) {
      const stored = await this.#account(_id);
      const keys = stored?.keys ?? [];
      // There is no room for more, whoever wrote them.
      if (keys.length >= KEYS_MAX) return 'limit';
      if (maxKeys !== null && this.#believed(row.accountId, keys).length >= maxKeys) return 'limit';
      if (await this.#isTaken(row)) {
        // By another process that makes the same first key, after the account was read: then it
        // has one.
        if ((await this.#account(_id))?.revision !== stored?.revision) continue;
        throw new RangeError('the id and the hash of a key are new');
      }
      if (stored === null ? await this.#insert(_id, row) : await this.#push(stored, row)) return 'created';
    }
  }

  async findByHash(hash: string): Promise<Sealed<KeyRow> | null> {
    const projection = { keys: { $elemMatch: { hash } } };
    const account = await this.#accounts.findOne({ lookups: byHash(hash) }, { projection });
    return account?.keys?.[0] ?? null;
  }

  async list(accountId: string): Promise<Sealed<KeyRow>[]> {
    const keys = await this.#keys(accountId);
    return keys.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? 1 : -1));
  }

  async count(accountId: string): Promise<number> {
    return this.#believed(accountId, await this.#keys(accountId)).length;
  }

  async hasAny(accountId: string): Promise<boolean> {
    return (await this.#keys(accountId)).length > 0;
  }

  async revoke(accountId: string, id: string, nowIso: string): Promise<'revoked' | 'absent' | 'last'> {
    const _id = idPart(accountId);
    for (;;) {
      const stored = await this.#account(_id);
      const keys = stored?.keys ?? [];
      const outcome = revocationOf(id, keys, this.#believed(accountId, keys), nowIso);
      if (outcome !== 'revoked') return outcome;
      const lookups = keys.filter((key) => key.id === id).flatMap(lookupsOf);
      const { matchedCount } = await this.#accounts.updateOne(
        { _id, revision: stored!.revision },
        { $pull: { keys: { id } }, $pullAll: { lookups }, $inc: { revision: 1 } },
      );
      if (matchedCount > 0) return 'revoked';
    }
  }

  async touch(id: string, lastUsedAt: string): Promise<void> {
    for (let attempt = 0; attempt < TOUCH_ATTEMPTS; attempt++) {
      const stored = await this.#accounts.findOne({ lookups: byId(id) });
      const at = stored?.keys.findIndex((key) => key.id === id) ?? -1;
      if (!stored || at < 0) return;
      const before = stored.keys[at].lastUsedAt;
      if (before !== null && Date.parse(before) >= Date.parse(lastUsedAt)) return;
      const field = `keys.${at}.lastUsedAt`;
      const same = { _id: stored._id, revision: stored.revision, [field]: before };
      if ((await this.#accounts.updateOne(same, { $set: { [field]: lastUsedAt } })).matchedCount > 0) return;
    }
  }

  /** Removes all keys of an account. Part of deleting it. */
  async remove(account: string): Promise<void> {
    await this.#accounts.deleteOne({ _id: account });
  }

  #believed(accountId: string, keys: Sealed<KeyRow>[]): KeyRow[] {
    return believedKeys(accountId, keys, this.#seals);
  }

  async #keys(accountId: string): Promise<Sealed<KeyRow>[]> {
    return (await this.#accounts.findOne({ _id: idPart(accountId) }))?.keys ?? [];
  }

  #account(_id: string): Promise<AccountKeys | null> {
    return this.#connection.reading('reading keys', () => this.#accounts.findOne({ _id }));
  }

  async #isTaken(row: KeyRow): Promise<boolean> {
    const filter = { lookups: { $in: lookupsOf(row) } };
    return (await this.#accounts.findOne(filter, { projection: { _id: 1 } })) !== null;
  }

  /** False when it did not fit in any more; why, the next look tells. */
  async #insert(_id: string, row: Sealed<KeyRow>): Promise<boolean> {
    const lookups = [`@${_id}`, ...lookupsOf(row)];
    return (await unlessTaken(this.#accounts.insertOne({ _id, revision: 1, keys: [{ ...row }], lookups }))) !== null;
  }

  async #push({ _id, revision }: AccountKeys, row: Sealed<KeyRow>): Promise<boolean> {
    const $push = { keys: { ...row }, lookups: { $each: lookupsOf(row) } };
    const pushed = await unlessTaken(this.#accounts.updateOne({ _id, revision }, { $push, $inc: { revision: 1 } }));
    return pushed !== null && pushed.matchedCount > 0;
  }
}

function lookupsOf({ hash, id }: KeyRow): string[] {
  return [byHash(hash), byId(id)];
}

function byHash(hash: string): string {
  return `#${idPart(hash)}`;
}

function byId(id: string): string {
  return `=${idPart(id)}`;
}
