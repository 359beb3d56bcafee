import { randomUUID } from 'node:crypto';
import type { Said, Seals } from '../secret/seals.ts';

/**
 * The mark of a store that says whether its first key is still to be made, and for which account.
 * It permits making the key, so taking it away permits nothing.
 */
export interface FirstKeyMark {
  /**
   * Id of the account that the first key is to be made for; null once a key was made, and where the
   * store holds any trace of earlier use. Throws StoreError.
   */
  dueFor(): Promise<string | null>;
  /** Notes that the key was made. Throws StoreError. */
  setMade(): Promise<void>;
  /** Takes that back if the key was never shown. Throws StoreError. */
  setDue(accountId: string): Promise<void>;
}

/** The mark as it is stored. */
export interface StoredMark {
  state: 'due' | 'made';
  account: string;
  seal: string;
}

/** What an adapter keeps of it. */
export interface StoredFirstKey {
  /** The stored mark, not to be trusted; undefined or null if there is none. */
  read(): Promise<unknown>;
  write(mark: StoredMark): Promise<void>;
  /** Whether the store holds, or held, anything but the account with the id `besides`. */
  isUsed(besides: string): Promise<boolean>;
}

const NO_ACCOUNT = '';

/** The mark of a new store. Its account is no other store's, so its key opens no other's data. */
export const newMark = (seals: Seals): StoredMark => sealed(seals, 'due', randomUUID());

/** The mark under a seal. */
export function firstKeyMark(stored: StoredFirstKey, seals: Seals): FirstKeyMark {
  return {
    async dueFor() {
      let mark = await stored.read();
      if (isAbsent(mark) && !(await stored.isUsed(NO_ACCOUNT))) {
        await stored.write(newMark(seals));
        mark = await stored.read();
      }
      if (isSealed(seals, mark)) {
        if (mark.state === 'made') return null;
        if (!(await stored.isUsed(mark.account))) return mark.account;
      }
      await this.setMade();
      return null;
    },
    setMade: () => stored.write(sealed(seals, 'made', NO_ACCOUNT)),
    setDue: (accountId) => stored.write(sealed(seals, 'due', accountId)),
  };
}

/**
 * The mark under the current secret. One that no accepted secret sealed permits nothing; one that
 * is not there is left to the next start. For `npm run reseal`.
 */
export function resealedMark(seals: Seals, mark: unknown): StoredMark | undefined {
  if (isAbsent(mark)) return undefined;
  return isSealed(seals, mark) ? sealed(seals, mark.state, mark.account) : sealed(seals, 'made', NO_ACCOUNT);
}

const isAbsent = (mark: unknown): boolean => mark === undefined || mark === null;

const saidOf = (state: StoredMark['state'], account: string): Said => ['first key', state, account];

function sealed(seals: Seals, state: StoredMark['state'], account: string): StoredMark {
  return { state, account, seal: seals.hex(saidOf(state, account)) };
}

function isSealed(seals: Seals, mark: unknown): mark is StoredMark {
  if (typeof mark !== 'object' || mark === null) return false;
  const { state, account, seal } = mark as Record<string, unknown>;
  if ((state !== 'due' && state !== 'made') || typeof account !== 'string') return false;
  return seals.fitsHex(saidOf(state, account), seal);
}
