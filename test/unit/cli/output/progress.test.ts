import { expect, test } from '@jest/globals';
import { progressLine } from '../../../../cli/output/progress.ts';

test.each([
  [0, null, 0, 'importing  0 records  0/s'],
  [12_000, 0.6, 3, 'importing  12,000 records  60 %  4,000/s  2 s left'],
  [1_000_000, 0.5, 125, 'importing  1,000,000 records  50 %  8,000/s  2 min 5 s left'],
  [10, 0.001, 10, 'importing  10 records  0 %  1/s  2 h 46 min left'],
  [10, 1, 10, 'importing  10 records  100 %  1/s  0 s left'],
])('%i records, %s of the whole, after %i s', (records, part, seconds, line) => {
  expect(progressLine('importing', records, part, seconds)).toBe(line);
});
