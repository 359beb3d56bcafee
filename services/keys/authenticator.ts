import type { Identity } from '../../contracts/actions/keys.ts';
import { unauthenticated } from '../../lib/errors.ts';
import type { AccountId } from '../../lib/ids.ts';
import type { PlanName } from '../../lib/plans.ts';
import { ReadCache } from '../../lib/time/read-cache.ts';
import type { Runtime } from '../../process/runtime.ts';
import type { KeyRow } from '../../store/keys.ts';
import type { LastUse } from './last-use.ts';
import { isPossibleSecret, secretHash } from './secret.ts';

/** Message for a key that could not be looked up in time. */
export const LATE = 'The service could not check in time whether the API key is still valid; try again.';

interface KeyOfAccount extends KeyRow {
  plan: PlanName;
}

/**
 * Finds the account of a secret.
 *
 * Every failure is the same UNAUTHENTICATED, which does not reveal whether a key is unknown,
 * revoked or expired. Keys are cached by hash for half a second, counted from before the read (see
 * read-cache.ts), or until `forget`. Absence is not cached, so a new key works at once. A key and
 * its account are read together: a deleted account's keys stop working at once, on other nodes
 * within that half second. Throws UNAVAILABLE or StoreError if the store does not answer in time.
 */
export class Authenticator {
  readonly #runtime: Pick<Runtime, 'store' | 'clock'>;
  readonly #lastUse: LastUse;
  readonly #cache: ReadCache<KeyOfAccount>;

  constructor(runtime: Pick<Runtime, 'store' | 'clock'>, lastUse: LastUse) {
    this.#runtime = runtime;
    this.#lastUse = lastUse;
    this.#cache = new ReadCache(runtime.clock, LATE);
  }

  async authenticate(secret: unknown): Promise<Identity> {
    if (!isPossibleSecret(secret)) throw unauthenticated();
    const hash = secretHash(secret);
    const key = await this.#cache.get(hash, () => this.#read(hash));
    if (key === null || this.#isExpired(key)) throw unauthenticated();
    this.#lastUse.note(key);
    return { accountId: key.accountId, keyId: key.id, scopes: [...key.scopes], plan: key.plan };
  }

  /** Forgets the keys of an account. */
  forget(accountId: AccountId): void {
    this.#cache.forget((key) => key.accountId === accountId);
  }

  async #read(hash: string): Promise<KeyOfAccount | null> {
    const key = await this.#runtime.store.keys.findByHash(hash);
    if (key === null) return null;
    // A key created while its account was being deleted remains as a row, but must not work.
    const account = await this.#runtime.store.catalog.getAccount(key.accountId);
    return account === null ? null : { ...key, plan: account.plan };
  }

  #isExpired(key: KeyRow): boolean {
    return key.expiresAt !== null && Date.parse(key.expiresAt) <= this.#runtime.clock.wallMs();
  }
}
