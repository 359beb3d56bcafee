import type { Identity } from '../../lib/actions/keys.ts';
import { unauthenticated } from '../../lib/errors.ts';
import type { PlanName } from '../../lib/plans.ts';
import type { Runtime } from '../../lib/runtime.ts';
import type { KeyRow } from '../../lib/store/keys.ts';
import type { LastUse } from './last-use.ts';
import { ReadCache } from './read-cache.ts';
import { isPossibleSecret, secretHash } from './secret.ts';

interface KeyOfAccount extends KeyRow {
  plan: PlanName;
}

/**
 * Tells whose secret it is. Every failure is the same UNAUTHENTICATED: nothing says whether a key
 * is unknown, revoked or expired. A key is remembered by its hash for half a second from before it
 * was read (see read-cache.ts), and forgotten at once by `clear`; absence is never remembered, so a
 * new key works at once. A key and its account are read together: a deleted account's keys open
 * nothing from the same moment on, on other nodes once that half second is over. Throws UNAVAILABLE
 * or StoreError when the store does not say in time.
 */
export class Authenticator {
  readonly #runtime: Pick<Runtime, 'store' | 'clock'>;
  readonly #lastUse: LastUse;
  readonly #cache: ReadCache<KeyOfAccount>;

  constructor(runtime: Pick<Runtime, 'store' | 'clock'>, lastUse: LastUse) {
    this.#runtime = runtime;
    this.#lastUse = lastUse;
    this.#cache = new ReadCache(runtime.clock);
  }

  async authenticate(secret: unknown): Promise<Identity> {
    if (!isPossibleSecret(secret)) throw unauthenticated();
    const hash = secretHash(secret);
    const key = await this.#cache.get(hash, () => this.#read(hash));
    if (key === null || this.#isExpired(key)) throw unauthenticated();
    this.#lastUse.note(key);
    return { accountId: key.accountId, keyId: key.id, scopes: [...key.scopes], plan: key.plan };
  }

  clear(): void {
    this.#cache.clear();
  }

  async #read(hash: string): Promise<KeyOfAccount | null> {
    const key = await this.#runtime.store.keys.findByHash(hash);
    if (key === null) return null;
    // A key made while its account was being deleted outlives it as a row, but opens nothing.
    const account = await this.#runtime.store.catalog.getAccount(key.accountId);
    return account === null ? null : { ...key, plan: account.plan };
  }

  #isExpired(key: KeyRow): boolean {
    return key.expiresAt !== null && Date.parse(key.expiresAt) <= this.#runtime.clock.wallMs();
  }
}
