import { expect, test } from '@jest/globals';
import { readVector } from '../../../../../../services/gateway/console/app/pages/collection/query/read-vector.ts';
import { recallOf } from '../../../../../../services/gateway/console/app/pages/collection/query/recall.ts';

test.each(['[0.5, -1, 2e-3]', '0.5,-1,0.002', ' 0.5 -1\n0.002 ', '[0.5;-1;.002]'])('%s is a vector', (text) => {
  expect(readVector(text, 3)).toEqual({ values: [0.5, -1, 0.002], fault: null });
});

test.each([
  ['', 'Paste 3 numbers.'],
  ['[]', 'Paste 3 numbers.'],
  ['1, 2', 'These are 2 numbers; the collection has 3 dimensions.'],
  ['1, x, 3', 'x is not a number (position 2).'],
  ['1, NaN, 3', 'NaN is not a number (position 2).'],
  ['1, Infinity, 3', 'Infinity is not a number (position 2).'],
])('"%s" is none', (text, fault) => {
  expect(readVector(text, 3)).toEqual({ values: null, fault });
});

const scored = (...scores: number[]) => scores.map((score) => ({ score }));

test('recall counts what the index found of the best, and ties as found', () => {
  expect(recallOf(scored(3, 2, 1), scored(3, 2, 1))).toEqual({ hits: 3, share: 1 });
  expect(recallOf(scored(3, 1, 0), scored(3, 2, 1))).toEqual({ hits: 2, share: 2 / 3 });
  // Two records share the last score; either is right.
  expect(recallOf(scored(3, 1), scored(3, 1))).toEqual({ hits: 2, share: 1 });
  expect(recallOf([], scored(1))).toEqual({ hits: 0, share: 0 });
  expect(recallOf([], [])).toEqual({ hits: 0, share: 1 });
});
