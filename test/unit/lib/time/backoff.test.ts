import { expect, test } from '@jest/globals';
import { backoffMs } from '../../../../lib/time/backoff.ts';

test('a pause doubles from the minimum to the maximum, however often something fails', () => {
  const bounds = { minMs: 250, maxMs: 3_000 };
  const pauses = [0, 1, 2, 3, 4, 5, 2_000].map((failures) => backoffMs(failures, bounds));
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 3_000, 3_000, 3_000]);
});
