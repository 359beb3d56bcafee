import { randomUUID } from 'node:crypto';
import type { AccountId } from '../lib/ids.ts';
import type { MacPayload, Seals } from '../lib/secret/seals.ts';

/** A first key that the store permits. */
interface DueKey {
  accountId: AccountId;
  /** 32 secret bytes for the key, the same at every start until `setMade`. */
  seed: Buffer;
}

/**
 * Records whether the store's first API key has yet to be made and shown, and for which account.
 * The mark only ever permits making the key, so removing it grants nothing
 * (docs/internals/store.md).
 */
export interface FirstKeyMark {
  /**
   * Returns the key that is due; null once it was made, or if the store shows any sign of use other
   * than the account of that key and its keys. Throws StoreError.
   */
  due(): Promise<DueKey | null>;
  /** Records, for good, that the key was made and shown. Throws StoreError. */
  setMade(): Promise<void>;
}

export interface StoredFirstKeyMark {
  state: 'due' | 'made';
  /** Empty once the key was made. */
  account: string;
  /** Random; empty once the key was made. Undefined in marks made before it existed. */
  nonce?: string;
  seal: string;
}

export interface StoredFirstKey {
  /** Returns the stored mark unverified; undefined or null if there is none. */
  read(): Promise<unknown>;
  write(mark: StoredFirstKeyMark): Promise<void>;
  /**
   * Writes the mark if the stored one still has the seal `before`, or is still absent if that is
   * null.
   */
  replace(before: string | null, mark: StoredFirstKeyMark): Promise<void>;
  /**
   * Returns whether the store holds, or ever held, anything but the account with the id `besides`
   * and its keys.
   */
  isUsed(besides: string): Promise<boolean>;
}

const NO_ACCOUNT = '';
const NO_NONCE = '';

/**
 * Returns the mark of a new store. Its account id is random, so the key of one store never opens
 * another.
 */
export const newMark = (seals: Seals): StoredFirstKeyMark => dueMark(seals, randomUUID());

/** Wraps a stored mark with seal verification. */
export function firstKeyMark(stored: StoredFirstKey, seals: Seals): FirstKeyMark {
  const replace = async (before: string | null, mark: StoredFirstKeyMark): Promise<unknown> => {
    await stored.replace(before, mark);
    // Another process may have written its own.
    return stored.read();
  };
  /** Returns the valid mark; null if there is none, or if it is due in a store that was used. */
  const permission = async (): Promise<StoredFirstKeyMark | null> => {
    let mark = await stored.read();
    if (isAbsent(mark) && !(await stored.isUsed(NO_ACCOUNT))) mark = await replace(null, newMark(seals));
    if (!isSealed(seals, mark)) return null;
    if (mark.state === 'made') return mark;
    if (await stored.isUsed(mark.account)) return null;
    if (mark.nonce) return mark;
    mark = await replace(mark.seal, dueMark(seals, mark.account));
    return isSealed(seals, mark) ? mark : null;
  };
  return {
    async due() {
      const mark = await permission();
      if (mark === null) await this.setMade();
      return mark?.state === 'due' ? { accountId: mark.account, seed: seals.seal(payloadOfSecret(mark)) } : null;
    },
    setMade: () => stored.write(madeMark(seals)),
  };
}

/**
 * Returns the mark sealed with the current secret, for `npm run reseal`. A mark without a valid
 * seal becomes 'made', which permits nothing. Returns undefined if there is none; the next start
 * then decides.
 */
export function resealedMark(seals: Seals, mark: unknown): StoredFirstKeyMark | undefined {
  if (isAbsent(mark)) return undefined;
  return isSealed(seals, mark) ? sealed(seals, mark.state, mark.account, mark.nonce) : madeMark(seals);
}

const isAbsent = (mark: unknown): boolean => mark === undefined || mark === null;

const dueMark = (seals: Seals, account: string): StoredFirstKeyMark => sealed(seals, 'due', account, randomUUID());
const madeMark = (seals: Seals): StoredFirstKeyMark => sealed(seals, 'made', NO_ACCOUNT, NO_NONCE);

type Mark = Omit<StoredFirstKeyMark, 'seal'>;

const payloadOfMark = ({ state, account, nonce }: Mark): MacPayload => [
  'first key',
  state,
  account,
  ...(nonce ? [nonce] : []),
];
const payloadOfSecret = ({ account, nonce }: Mark): MacPayload => ['secret of the first key', account, nonce];

function sealed(seals: Seals, state: Mark['state'], account: string, nonce = NO_NONCE): StoredFirstKeyMark {
  const mark = { state, account, nonce };
  return { ...mark, seal: seals.sealHex(payloadOfMark(mark)) };
}

function isSealed(seals: Seals, mark: unknown): mark is StoredFirstKeyMark {
  if (typeof mark !== 'object' || mark === null) return false;
  const { state, account, nonce, seal } = mark as Record<string, unknown>;
  if ((state !== 'due' && state !== 'made') || typeof account !== 'string') return false;
  if (nonce !== undefined && typeof nonce !== 'string') return false;
  return seals.verifyHex(payloadOfMark({ state, account, nonce }), seal);
}
