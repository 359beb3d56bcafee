import { expect, test } from '@jest/globals';
import { matches, predicateOf } from '../../../../lib/filter/evaluate.ts';
import { parseFilter } from '../../../../lib/filter/parse.ts';
import { LIMITS } from '../../../../lib/limits.ts';
import { naiveMatches } from '../../../support/naive-filter.ts';

const RECORD = JSON.parse(`{
  "n": 5, "s": "b", "t": true, "z": null, "list": ["x", 1, null], "empty": [],
  "o": {"p": {"q": 1}, "list": [{"q": 1}]}, "o.p.q": 2, "o.r": {"s": 3}, "__proto__": "own", "": {"": 7}, "emoji": "😀"
}`);

test.each([
  [{ n: 5 }, true],
  [{ n: '5' }, false],
  [{ n: { $gt: 4, $lt: 6 } }, true],
  [{ n: { $gt: 5 } }, false],
  [{ n: { $gt: 'a' } }, false],
  [{ s: { $gte: 'b', $lt: 'c' } }, true],
  [{ t: { $gt: 0 } }, false],
  [{ z: null }, true],
  [{ z: { $exists: true } }, true],
  [{ absent: null }, false],
  [{ absent: { $ne: null } }, true],
  [{ absent: { $ne: 1 } }, true],
  [{ absent: { $nin: [1] } }, true],
  [{ absent: { $exists: false } }, true],
  [{ absent: { $lt: 1 } }, false],
  [{ absent: { $not: { $lt: 1 } } }, true],
  [{ list: 'x' }, true],
  [{ list: null }, true],
  [{ list: { $in: [7, 1] } }, true],
  [{ list: { $ne: 'x' } }, false],
  [{ list: { $nin: ['y'] } }, true],
  [{ list: { $gt: 0 } }, false],
  [{ empty: { $exists: true } }, true],
  [{ empty: { $ne: 'x' } }, true],
  [{ o: { $exists: true } }, true],
  [{ o: { $ne: 1 } }, true],
  [{ 'o.p.q': 2 }, true],
  [{ 'o.p.q': 1 }, false],
  [{ 'o.p': { $exists: true } }, true],
  [{ 'o.r.s': { $exists: true } }, false],
  [{ 'o.list.q': { $exists: true } }, false],
  [{ 'o.list.length': { $exists: true } }, false],
  [{ 's.length': { $exists: true } }, false],
  [JSON.parse('{"__proto__": "own"}'), true],
  [{ constructor: { $exists: false } }, true],
  [{ 'o.constructor': { $exists: false } }, true],
  [{ '': { $exists: true } }, true],
  [{ '.': 7 }, true],
  [{ n: { $in: [] } }, false],
  [{ n: { $nin: [] } }, true],
  [{ $not: {} }, false],
  [{ $or: [{ n: 1 }, {}] }, true],
  [{ $and: [{ n: 5 }, { s: 'c' }] }, false],
  [{ $not: { $or: [{ n: 1 }, { s: 'c' }] } }, true],
  [{ emoji: { $gt: '\uffee' } }, true],
  [{ emoji: { $gte: '\u{1f600}', $lte: '\u{1f600}' } }, true],
  [{ emoji: { $lt: '\u{1f601}', $gt: '\u{1f5ff}' } }, true],
  [{ emoji: { $lt: '\uffee' } }, false],
])('%j -> %p', (filter, expected) => {
  const node = parseFilter(filter, LIMITS);
  expect(node === null || matches(node, RECORD)).toBe(expected);
  expect(naiveMatches(filter, RECORD)).toBe(expected);
});

test('a long list is split once, however many conditions need its elements', () => {
  const list = Array.from({ length: 9_000 }, (_, i) => i);
  const $or = Array.from({ length: 30 }, (_, at) => ({
    list: { $in: Array.from({ length: 32 }, (_, i) => -1 - 32 * at - i) },
  }));
  let compared = 0;
  const meets = predicateOf(parseFilter({ $or }, LIMITS)!, (count) => {
    compared += count;
  });
  expect(meets({ list })).toBe(false);
  expect(compared).toBe(9_000 + 30 * 32);
  expect(meets({ list: [...list, -960] })).toBe(true);
  expect(meets({ list: [{ a: 1 }, [-960], ...list] })).toBe(false);
});
