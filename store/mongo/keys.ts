import type { Collection } from 'mongodb';
import { itemAt } from '../../lib/checked-access.ts';
import type { AccountId } from '../../lib/ids.ts';
import { KEYS_MAX } from '../../lib/plans.ts';
import type { Seals } from '../../lib/secret/seals.ts';
import { canManage, type KeyRow, type StoredKeys, standsInFor } from '../keys.ts';
import { KnownKeys } from '../known-keys.ts';
import { type Position, pageOf, positionOf, type RowPage } from '../page.ts';
import type { Sealed } from '../sealed.ts';
import { isAuthenticKey } from '../sealed-keys.ts';
import type { Connection } from './connection.ts';
import { fields, listOf, text, validated, whole } from './document-form.ts';
import { type IdPart, idPart } from './document-id.ts';
import { nullOnDuplicate } from './store-failure.ts';

const TOUCH_ATTEMPTS = 3;

/** All keys of one account. `revision` counts additions and removals of keys. */
export interface AccountKeys {
  _id: IdPart;
  revision: number;
  keys: Sealed<KeyRow>[];
  /**
   * Index terms of the keys, unique over all accounts. Never empty, because the unique index treats
   * an empty array as a value.
   */
  lookups: string[];
}

/**
 * All keys of an account are in one document, so checks over all of them (the key limit, the last
 * key that can manage) are a compare-and-set on its revision. KEYS_MAX keys fit into a document
 * with room to spare.
 */
export class MongoKeys implements StoredKeys {
  readonly #connection: Connection;
  readonly #accounts: Collection<AccountKeys>;
  readonly #seals: Seals;
  readonly #known: KnownKeys;

  constructor(connection: Connection, seals: Seals) {
    this.#connection = connection;
    this.#seals = seals;
    this.#known = new KnownKeys(seals);
    this.#accounts = connection.collection('account-keys');
  }

  async create(row: Sealed<KeyRow>, maxKeys: number | null): Promise<'created' | 'limit'> {
    const _id = idPart(row.accountId);
    for (;;) {
      const stored = await this.#account(_id);
      const keys = stored === null ? [] : keysIn(validated(stored, ACCOUNT, 'The keys of an account'));
      // The document has no room for more, even if some keys are forged.
      if (keys.length >= KEYS_MAX) return 'limit';
      if (maxKeys !== null && this.#countValid(row.accountId, keys) >= maxKeys) return 'limit';
      if (await this.#isTaken(row)) {
        // Another process that makes the same first key may have been faster, after the account was
        // read here.
        if ((await this.#account(_id))?.revision !== stored?.revision) continue;
        throw new RangeError('the id or the hash of the key is already taken');
      }
      if (stored === null ? await this.#insert(_id, row) : await this.#push(stored, row)) return 'created';
    }
  }

  async findByHash(hash: string): Promise<Sealed<KeyRow> | null> {
    const account = await this.#accounts.findOne({ lookups: byHash(hash) }, { projection: onlyKey({ hash }) });
    return account === null ? null : (keysIn(account)[0] ?? null);
  }

  async find(accountId: AccountId, id: string): Promise<Sealed<KeyRow> | null> {
    const _id = idPart(accountId);
    const account = await this.#accounts.findOne({ _id, 'keys.id': id }, { projection: onlyKey({ id }) });
    const first = account === null ? undefined : keysIn(account)[0];
    return first === undefined ? null : this.#validRowOr(accountId, first);
  }

  async page(accountId: AccountId, after: Position | null, limit: number): Promise<RowPage<Sealed<KeyRow>>> {
    const keys = (await this.#keys(accountId)).sort(newestFirst);
    const rest = after === null ? keys : keys.filter((key) => newestFirst(after, key) < 0);
    return pageOf(rest.slice(0, limit + 1), limit, positionOf);
  }

  async count(accountId: AccountId): Promise<number> {
    return this.#countValid(accountId, await this.#keys(accountId));
  }

  async revoke(accountId: AccountId, id: string, nowIso: string): Promise<'revoked' | 'absent' | 'last'> {
    const _id = idPart(accountId);
    for (;;) {
      const stored = await this.#accounts.findOne({ _id, 'keys.id': id }, { projection: onlyKey({ id }) });
      const first = stored === null ? undefined : keysIn(stored)[0];
      if (!stored || first === undefined) return 'absent';
      const row = await this.#validRowOr(accountId, first);
      if (this.#isValid(accountId, row) && canManage(row, nowIso)) {
        if (!(await this.#hasOther(_id, accountId, row, nowIso))) return 'last';
      }
      // If the revision changed, the other keys were read too early.
      const { matchedCount } = await this.#accounts.updateOne(
        { _id, revision: stored.revision },
        { $pull: { keys: { id } }, $pullAll: { lookups: lookupsOf(row) }, $inc: { revision: 1 } },
      );
      if (matchedCount > 0) return 'revoked';
    }
  }

  async touch(id: string, lastUsedAt: string): Promise<void> {
    for (let attempt = 0; attempt < TOUCH_ATTEMPTS; attempt++) {
      const stored = await this.#accounts.findOne({ lookups: byId(id) });
      if (!stored || !Array.isArray(stored.keys)) return;
      const at = stored.keys.findIndex((key) => key?.id === id);
      if (at < 0) return;
      const before = itemAt(stored.keys, at).lastUsedAt;
      if (typeof before === 'string' && Date.parse(before) >= Date.parse(lastUsedAt)) return;
      const field = `keys.${at}.lastUsedAt`;
      const same = { _id: stored._id, revision: stored.revision, [field]: before };
      if ((await this.#accounts.updateOne(same, { $set: { [field]: lastUsedAt } })).matchedCount > 0) return;
    }
  }

  async remove(account: IdPart): Promise<void> {
    await this.#accounts.deleteOne({ _id: account });
  }

  #isValid(accountId: AccountId, row: Sealed<KeyRow>): boolean {
    return isAuthenticKey(accountId, row, this.#seals);
  }

  /**
   * Returns the valid row with the id of `row`, because forged rows may precede it; otherwise
   * `row`.
   */
  async #validRowOr(accountId: AccountId, row: Sealed<KeyRow>): Promise<Sealed<KeyRow>> {
    if (this.#isValid(accountId, row)) return row;
    const keys = await this.#keys(accountId);
    return keys.find((key) => key.id === row.id && this.#isValid(accountId, key)) ?? row;
  }

  /** Counts the valid keys, each once: an attacker may have stored a row twice. */
  #countValid(accountId: AccountId, keys: Sealed<KeyRow>[]): number {
    const own = keys.filter((row) => this.#known.counts(accountId, row, () => row));
    return new Set(own.map(({ id }) => id)).size;
  }

  /**
   * Returns whether another key can replace `row`. Asks the database for one likely key; reads all
   * keys only if that one is forged.
   */
  async #hasOther(_id: IdPart, accountId: AccountId, row: KeyRow, nowIso: string): Promise<boolean> {
    const standsIn = (key: Sealed<KeyRow>) => standsInFor(key, row, nowIso) && this.#isValid(accountId, key);
    const lasting = { expiresAt: null };
    const other = { id: { $ne: row.id }, scopes: 'manage' };
    for (const kind of row.expiresAt === null ? [lasting] : [lasting, { expiresAt: { $gt: nowIso } }]) {
      const likely = await this.#accounts.findOne({ _id }, { projection: onlyKey({ ...other, ...kind }) });
      const keys = likely === null ? [] : keysIn(likely);
      if (keys.some(standsIn)) return true;
      if (keys.length > 0) return (await this.#keys(accountId)).some(standsIn);
    }
    return false;
  }

  async #keys(accountId: AccountId): Promise<Sealed<KeyRow>[]> {
    const found = await this.#accounts.findOne({ _id: idPart(accountId) });
    return found === null ? [] : keysIn(found);
  }

  #account(_id: IdPart): Promise<AccountKeys | null> {
    return this.#connection.reading('reading keys', () => this.#accounts.findOne({ _id }));
  }

  async #isTaken(row: KeyRow): Promise<boolean> {
    const filter = { lookups: { $in: lookupsOf(row) } };
    return (await this.#accounts.findOne(filter, { projection: { _id: 1 } })) !== null;
  }

  /** Returns false on a conflict; the caller reads again to find the cause. */
  async #insert(_id: IdPart, row: Sealed<KeyRow>): Promise<boolean> {
    const lookups = [`@${_id}`, ...lookupsOf(row)];
    return (
      (await nullOnDuplicate(this.#accounts.insertOne({ _id, revision: 1, keys: [{ ...row }], lookups }))) !== null
    );
  }

  async #push({ _id, revision }: AccountKeys, row: Sealed<KeyRow>): Promise<boolean> {
    const $push = { keys: { ...row }, lookups: { $each: lookupsOf(row) } };
    const pushed = await nullOnDuplicate(this.#accounts.updateOne({ _id, revision }, { $push, $inc: { revision: 1 } }));
    return pushed !== null && pushed.matchedCount > 0;
  }
}

/** Projects an account's document to its revision and the first key that meets `condition`. */
const onlyKey = (condition: object) => ({ revision: 1, keys: { $elemMatch: condition } });

const ACCOUNT = fields({ revision: whole, keys: Array.isArray, lookups: listOf(text) });
const KEY = fields({});

/**
 * Returns the well-formed keys of a document. Replaces a malformed `lastUsedAt`, which the seal
 * does not cover, with null.
 */
function keysIn({ keys }: Partial<AccountKeys>): Sealed<KeyRow>[] {
  const rows = Array.isArray(keys) ? keys.filter(KEY) : [];
  return rows.map((row) => ({ ...row, lastUsedAt: typeof row.lastUsedAt === 'string' ? row.lastUsedAt : null }));
}

function newestFirst(a: Position, b: Position): number {
  return Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id === b.id ? 0 : a.id < b.id ? 1 : -1);
}

function lookupsOf({ hash, id }: KeyRow): string[] {
  return [...(typeof hash === 'string' ? [byHash(hash)] : []), byId(id)];
}

function byHash(hash: string): string {
  return `#${idPart(hash)}`;
}

function byId(id: string): string {
  return `=${idPart(id)}`;
}
