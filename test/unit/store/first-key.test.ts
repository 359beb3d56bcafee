import { expect, test } from '@jest/globals';
import { storeKeys } from '../../../lib/secret/keyring.ts';
import { Seals } from '../../../lib/secret/seals.ts';
import {
  firstKeyMark,
  newMark,
  resealedMark,
  type StoredFirstKey,
  type StoredFirstKeyMark,
} from '../../../store/first-key.ts';

const [OLD, NEXT] = ['o'.repeat(43), 'n'.repeat(43)] as const;
const old = new Seals(storeKeys([OLD]).installation);
const rotating = new Seals(storeKeys([NEXT, OLD]).installation);
const next = new Seals(storeKeys([NEXT]).installation);

/** A due mark as earlier versions wrote it. */
const withoutNonce = (account: string): StoredFirstKeyMark => ({
  state: 'due',
  account,
  seal: old.sealHex(['first key', 'due', account]),
});

/** The mark of a store in memory. `onUsed` runs while the store is searched for signs of use. */
function storedMark(mark: unknown, onUsed = async (_: StoredFirstKey): Promise<void> => undefined): StoredFirstKey {
  let stored = mark;
  const self: StoredFirstKey = {
    read: async () => stored,
    write: async (written) => {
      stored = written;
    },
    replace: async (before, written) => {
      if (((stored as StoredFirstKeyMark | undefined)?.seal ?? null) === before) stored = written;
    },
    isUsed: async () => {
      await onUsed(self);
      return false;
    },
  };
  return self;
}

/** What the mark permits under `seals` in a store that was never used. */
async function permitted(mark: unknown, seals: Seals): Promise<string | null> {
  return (await firstKeyMark(storedMark(mark), seals).due())?.accountId ?? null;
}

test('a resealed mark permits the same, only under the next secret', async () => {
  const mark = newMark(old);
  expect(await permitted(mark, rotating)).toBe(mark.account);
  expect(await permitted(resealedMark(rotating, mark), next)).toBe(mark.account);
  expect(await permitted(mark, next)).toBeNull();
});

test.each<[string, StoredFirstKeyMark]>([
  ['under a secret that is lost', newMark(old)],
  ['written by someone else', { state: 'due', account: 'a', seal: '0'.repeat(64) }],
])('one %s permits nothing after resealing', async (_, mark) => {
  const resealed = resealedMark(next, mark);
  expect(resealed).toMatchObject({ state: 'made' });
  expect(await permitted(resealed, next)).toBeNull();
});

test('a mark of a version that had no nonce permits a key for the same account, and then always the same key', async () => {
  const { account } = newMark(old);
  const mark = firstKeyMark(storedMark(withoutNonce(account)), old);
  const due = await mark.due();
  expect(due).toMatchObject({ accountId: account });
  expect(await mark.due()).toEqual(due);
});

test.each<[string, unknown]>([
  ['absent', undefined],
  ['without a nonce', withoutNonce('a')],
])('a mark that was %s stays made if another start makes the key meanwhile', async (_, mark) => {
  const stored = storedMark(mark, (self) => firstKeyMark(self, old).setMade());
  expect(await firstKeyMark(stored, old).due()).toBeNull();
  expect(await stored.read()).toMatchObject({ state: 'made' });
});

test('an absent mark stays absent, and the next start decides', () => {
  expect(resealedMark(next, undefined)).toBeUndefined();
});
