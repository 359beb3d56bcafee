import { expect, test } from '@jest/globals';
import { cached } from '../../../../../services/anchoring/ledger/ttl-cache.ts';

test('an answer is requested once at a time, again when it is too old, and anew after a failure', async () => {
  let nowMs = 0;
  let asked = 0;
  const kept = cached(
    async () => {
      asked += 1;
      if (asked === 2) throw new Error('no answer');
      return asked;
    },
    100,
    () => nowMs,
  );
  expect(await Promise.all([kept(), kept()])).toEqual([1, 1]);
  nowMs = 100;
  expect(await kept()).toBe(1);
  nowMs = 101;
  await expect(kept()).rejects.toThrow('no answer');
  expect(await kept()).toBe(3);
});
