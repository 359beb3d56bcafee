import { expect, test } from '@jest/globals';
import { TtlCache } from '../../../../../services/anchoring/ledger/ttl-cache.ts';

test('an answer is asked for once at a time, again when it is too old, and anew after a failure', async () => {
  let nowMs = 0;
  let asked = 0;
  const kept = new TtlCache(
    async () => {
      asked += 1;
      if (asked === 2) throw new Error('no answer');
      return asked;
    },
    100,
    () => nowMs,
  );
  expect(await Promise.all([kept.get(), kept.get()])).toEqual([1, 1]);
  nowMs = 100;
  expect(await kept.get()).toBe(1);
  nowMs = 101;
  await expect(kept.get()).rejects.toThrow('no answer');
  expect(await kept.get()).toBe(3);
});
