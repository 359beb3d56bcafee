import { isLastManageKey, type KeyRow, type KeyStore } from '../keys.ts';
import type { Environment, Table } from './environment.ts';
import { decodeRow, encodeRow } from './row-codec.ts';
import { idPart, prefixRange } from './row-key.ts';
import { damaged } from './store-failure.ts';

/** Tables: account + key id -> row; key's hash and key id -> where the row is. */
export class LmdbKeys implements KeyStore {
  readonly #env: Environment;
  readonly #rows: Table;
  readonly #byHash: Table;
  readonly #byId: Table;

  constructor(env: Environment) {
    this.#env = env;
    this.#rows = env.table('keys');
    this.#byHash = env.table('keys-by-hash');
    this.#byId = env.table('keys-by-id');
  }

  async create(row: KeyRow, maxKeys: number | null): Promise<'created' | 'limit'> {
    return this.#env.write(() => {
      if (maxKeys !== null && this.#count(row.accountId) >= maxKeys) return 'limit';
      if (this.#byId.doesExist(idPart(row.id)) || this.#byHash.doesExist(idPart(row.hash)))
        throw new RangeError('the id and the hash of a key are new');
      const key = rowKey(row);
      this.#rows.putSync(key, encodeRow(row));
      this.#byHash.putSync(idPart(row.hash), key);
      this.#byId.putSync(idPart(row.id), key);
      return 'created';
    });
  }

  async findByHash(hash: string): Promise<KeyRow | null> {
    return this.#env.read(() => {
      const key = this.#byHash.getBinary(idPart(hash));
      if (key === undefined) return null;
      const row = this.#row(key);
      if (row?.hash !== hash) throw damaged('An API key');
      return row;
    });
  }

  async list(accountId: string): Promise<KeyRow[]> {
    return this.#env.read(() =>
      this.#all(accountId).sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt) || (a.id < b.id ? 1 : -1)),
    );
  }

  async count(accountId: string): Promise<number> {
    return this.#env.read(() => this.#count(accountId));
  }

  async revoke(accountId: string, id: string, nowIso: string): Promise<'revoked' | 'absent' | 'last'> {
    return this.#env.write(() => {
      const all = this.#all(accountId);
      const row = all.find((candidate) => candidate.id === id);
      if (row === undefined) return 'absent';
      if (isLastManageKey(row, all, Date.parse(nowIso))) return 'last';
      this.#remove(row);
      return 'revoked';
    });
  }

  async touch(id: string, lastUsedAt: string): Promise<void> {
    await this.#env.write(() => {
      const key = this.#byId.getBinary(idPart(id));
      const row = key === undefined ? null : this.#row(key);
      if (row === null) return;
      if (row.lastUsedAt !== null && Date.parse(row.lastUsedAt) >= Date.parse(lastUsedAt)) return;
      this.#rows.putSync(rowKey(row), encodeRow({ ...row, lastUsedAt }));
    });
  }

  /** Removes all keys of an account; part of a write operation. */
  forget(accountId: string): void {
    for (const row of this.#all(accountId)) this.#remove(row);
  }

  #remove(row: KeyRow): void {
    this.#rows.removeSync(rowKey(row));
    this.#byHash.removeSync(idPart(row.hash));
    this.#byId.removeSync(idPart(row.id));
  }

  #all(accountId: string): KeyRow[] {
    return [...this.#rows.getRange(prefixRange(idPart(accountId)))].flatMap(({ value }) => decodeKey(value) ?? []);
  }

  #count(accountId: string): number {
    return this.#rows.getKeysCount(prefixRange(idPart(accountId)));
  }

  #row(key: Uint8Array): KeyRow | null {
    const bytes = this.#rows.getBinary(key);
    return bytes === undefined ? null : decodeKey(bytes);
  }
}

/** Null for a key that an earlier version revoked: it kept the row and marked it. */
function decodeKey(bytes: Uint8Array): KeyRow | null {
  const row = decodeRow<KeyRow & { revoked?: boolean }>(bytes, 'An API key');
  return row.revoked ? null : row;
}

function rowKey(row: KeyRow): Buffer {
  return Buffer.concat([idPart(row.accountId), idPart(row.id)]);
}
