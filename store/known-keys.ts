import type { AccountId } from '../lib/ids.ts';
import type { Seals } from '../lib/secret/seals.ts';
import type { KeyRow } from './keys.ts';
import type { Sealed } from './sealed.ts';
import { isAuthenticKey } from './sealed-keys.ts';

/** Ten accounts with as many keys as one may have. */
const KNOWN_MAX = 100_000;

/**
 * Decides which rows count as an account's keys, and verifies each seal once: that takes as long as
 * reading ten rows. A row keeps counting if someone changes it but not its account, id and seal. It
 * then grants no access, as before, since every use verifies it.
 */
export class KnownKeys {
  readonly #seals: Seals;
  /** Account, id and seal of rows that were verified. */
  readonly #known = new Set<string>();

  constructor(seals: Seals) {
    this.#seals = seals;
  }

  /** Returns whether the row counts; `whole` reads what its seal covers. */
  counts(accountId: AccountId, { id, seal }: Pick<Sealed<KeyRow>, 'id' | 'seal'>, whole: () => Sealed<KeyRow> | null) {
    const name = JSON.stringify([accountId, id, seal]);
    if (this.#known.has(name)) return true;
    const row = whole();
    if (row === null || row.seal !== seal || !isAuthenticKey(accountId, row, this.#seals)) return false;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.add(name);
    return true;
  }
}
