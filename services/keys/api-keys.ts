import { randomUUID } from 'node:crypto';
import type { KeysPage, KeyView } from '../../contracts/actions/keys.ts';
import { positionCursor, positionOfCursor } from '../../contracts/requests/page-cursor.ts';
import { notFound, ProvecError } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import type { Clock } from '../../lib/time/clock.ts';
import type { KeyRow, KeyStore, Scope } from '../../store/keys.ts';
import { newSecret, secretHash, secretPrefix } from './secret.ts';

export interface NewKey {
  name: string;
  scopes: Scope[];
  /** ISO 8601 UTC, or null for never. */
  expiresAt: string | null;
}

/** Creates, lists and revokes API keys. Only `create` returns a secret. */
export class ApiKeys {
  readonly #store: KeyStore;
  readonly #clock: Clock;

  constructor(store: KeyStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns one page of keys. Throws INVALID_ARGUMENT for a bad cursor. */
  async page(accountId: AccountId, limit: number, cursor?: string): Promise<KeysPage> {
    const { rows, next } = await this.#store.page(accountId, positionOfCursor(cursor), limit);
    return { keys: rows.map(viewOf), ...positionCursor(next) };
  }

  /** Returns the new key with its secret; null if the account already has `maxKeys`. */
  async create(
    accountId: AccountId,
    { name, scopes, expiresAt }: NewKey,
    maxKeys: number | null,
    secret: string = newSecret(),
  ): Promise<(KeyView & { secret: string }) | null> {
    const row: KeyRow = {
      id: randomUUID(),
      accountId,
      name,
      hash: secretHash(secret),
      prefix: secretPrefix(secret),
      scopes,
      createdAt: new Date(this.#clock.wallMs()).toISOString(),
      expiresAt,
      lastUsedAt: null,
    };
    const outcome = await this.#store.create(row, maxKeys);
    return outcome === 'limit' ? null : { ...viewOf(row), secret };
  }

  /** Throws KEY_NOT_FOUND, and LAST_KEY for the account's last key with the manage scope. */
  async revoke(accountId: AccountId, id: string): Promise<void> {
    const outcome = await this.#store.revoke(accountId, id, new Date(this.#clock.wallMs()).toISOString());
    if (outcome === 'absent') throw notFound('KEY_NOT_FOUND');
    if (outcome === 'last') {
      throw new ProvecError(
        'LAST_KEY',
        "This is the account's last key with the manage scope; create another one first, then revoke this one.",
      );
    }
  }
}

function viewOf(row: KeyRow): KeyView {
  return {
    id: row.id,
    name: row.name,
    key_prefix: row.prefix,
    scopes: row.scopes,
    created_at: row.createdAt,
    expires_at: row.expiresAt,
    last_used_at: row.lastUsedAt,
    revoked: false,
  };
}
