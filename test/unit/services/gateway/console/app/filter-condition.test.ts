/** Conditions of the filter builder and of facets. */
import { expect, test } from '@jest/globals';
import {
  conditionOf,
  hasCondition,
  kindOf,
  toggled,
  withCondition,
} from '../../../../../../services/gateway/console/app/pages/collection/filter-condition.ts';

test.each([
  ['$eq', 'utils', 'utils', 'a text'],
  ['$eq', '5', 5, 'a number'],
  ['$eq', '"5"', '5', 'a text'],
  ['$eq', 'true', true, 'a boolean'],
  ['$eq', 'null', null, 'null'],
  ['$eq', '{"a": 1}', '{"a": 1}', 'a text'],
  ['$eq', '[1]', '[1]', 'a text'],
  ['$gte', '2020', { $gte: 2020 }, 'a number'],
  ['$in', 'a, 2 ,true', { $in: ['a', 2, true] }, 'a text'],
  ['exists', '', { $exists: true }, 'a text'],
  ['missing', 'x', { $exists: false }, 'a text'],
] as const)('%s %s', (operator, text, condition, kind) => {
  expect(conditionOf(operator, text)).toEqual(condition);
  expect(kindOf(text)).toBe(kind);
});

test('conditions add up, also on one field', () => {
  const one = withCondition(undefined, 'year', { $gte: 2020 });
  expect(one).toEqual({ year: { $gte: 2020 } });
  const two = withCondition(one, 'tag', 'a');
  expect(two).toEqual({ year: { $gte: 2020 }, tag: 'a' });
  const three = withCondition(two, 'year', { $lt: 2030 });
  expect(three).toEqual({ year: { $gte: 2020 }, tag: 'a', $and: [{ year: { $lt: 2030 } }] });
  expect(withCondition(three, 'tag', 'b').$and).toEqual([{ year: { $lt: 2030 } }, { tag: 'b' }]);
});

test('a facet switches its condition, and leaves the others', () => {
  const filter = { tag: 'a', year: 5 };
  expect(hasCondition(filter, 'tag', 'a')).toBe(true);
  expect(hasCondition(filter, 'tag', null)).toBe(false);
  expect(hasCondition(filter, 'toString', undefined)).toBe(false);
  expect(hasCondition(undefined, 'tag', 'a')).toBe(false);
  expect(toggled(filter, 'tag', 'b')).toEqual({ year: 5, tag: 'b' });
  expect(toggled(filter, 'tag', 'a')).toEqual({ year: 5 });
  expect(JSON.stringify(toggled(undefined, '__proto__', 'a'))).toBe('{"__proto__":"a"}');
  expect(JSON.stringify(withCondition({ a: 1 }, '__proto__', 'a'))).toBe('{"a":1,"__proto__":"a"}');
});
