import { randomUUID } from 'node:crypto';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';

/**
 * Records whether the store's first API key has yet to be made, and for which account. The mark
 * only ever permits making the key, so removing it grants nothing.
 */
export interface FirstKeyMark {
  /**
   * Returns the id of the account that needs its first key; null once a key was made, or if the
   * store shows any sign of earlier use. Throws StoreError.
   */
  dueFor(): Promise<string | null>;
  /** Records that the key was made. Throws StoreError. */
  setMade(): Promise<void>;
  /** Undoes `setMade` if the key was never shown. Throws StoreError. */
  setDue(accountId: string): Promise<void>;
}

export interface StoredFirstKeyMark {
  state: 'due' | 'made';
  account: string;
  seal: string;
}

export interface StoredFirstKey {
  /** Returns the stored mark unverified; undefined or null if there is none. */
  read(): Promise<unknown>;
  write(mark: StoredFirstKeyMark): Promise<void>;
  /**
   * Returns whether the store holds, or ever held, anything but the account with the id `besides`.
   */
  isUsed(besides: string): Promise<boolean>;
}

const NO_ACCOUNT = '';

/**
 * Returns the mark of a new store. Its account id is random, so the key of one store never opens
 * another.
 */
export const newMark = (seals: Seals): StoredFirstKeyMark => sealed(seals, 'due', randomUUID());

/** Wraps a stored mark with seal verification. */
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
 * Returns the mark sealed with the current secret, for `npm run reseal`. A mark without a valid
 * seal becomes 'made', which permits nothing. Returns undefined if there is none; the next start
 * then decides.
 */
export function resealedMark(seals: Seals, mark: unknown): StoredFirstKeyMark | undefined {
  if (isAbsent(mark)) return undefined;
  return isSealed(seals, mark) ? sealed(seals, mark.state, mark.account) : sealed(seals, 'made', NO_ACCOUNT);
}

const isAbsent = (mark: unknown): boolean => mark === undefined || mark === null;

const payloadOfMark = (state: StoredFirstKeyMark['state'], account: string): MacPayload => [
  'first key',
  state,
  account,
];

function sealed(seals: Seals, state: StoredFirstKeyMark['state'], account: string): StoredFirstKeyMark {
  return { state, account, seal: seals.sealHex(payloadOfMark(state, account)) };
}

function isSealed(seals: Seals, mark: unknown): mark is StoredFirstKeyMark {
  if (typeof mark !== 'object' || mark === null) return false;
  const { state, account, seal } = mark as Record<string, unknown>;
  if ((state !== 'due' && state !== 'made') || typeof account !== 'string') return false;
  return seals.verifyHex(payloadOfMark(state, account), seal);
}
