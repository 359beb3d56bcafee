import { describe, expect, test } from '@jest/globals';
import { ProvecError } from '../../../../lib/errors.ts';
import { parseFilter } from '../../../../lib/filter/parse.ts';
import { LIMITS } from '../../../../lib/limits.ts';

function refusal(filter: unknown): ProvecError {
  try {
    parseFilter(filter, LIMITS);
  } catch (error) {
    if (error instanceof ProvecError) return error;
    throw error;
  }
  throw new Error(`not refused: ${JSON.stringify(filter)}`);
}

function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? { a: 1 } : { $and: [nested(levels - 1)] };
}

describe('parseFilter', () => {
  test('accepts {} as no filter', () => {
    expect(parseFilter({}, LIMITS)).toBeNull();
  });

  test('normalises operators', () => {
    expect(parseFilter({ a: 1 }, LIMITS)).toEqual({ op: 'in', field: 'a', values: [1] });
    expect(parseFilter({ a: { $ne: null } }, LIMITS)).toEqual({
      op: 'not',
      node: { op: 'in', field: 'a', values: [null] },
    });
    expect(parseFilter({ a: { $exists: false } }, LIMITS)).toEqual({ op: 'not', node: { op: 'exists', field: 'a' } });
    expect(parseFilter({ a: { $gt: 1, $lte: 'b' }, b: true }, LIMITS)).toEqual({
      op: 'and',
      nodes: [
        {
          op: 'and',
          nodes: [
            { op: 'compare', field: 'a', relation: 'gt', operand: 1 },
            { op: 'compare', field: 'a', relation: 'lte', operand: 'b' },
          ],
        },
        { op: 'in', field: 'b', values: [true] },
      ],
    });
  });

  test.each([
    [null, 'filter', 'null'],
    [[], 'filter', 'an empty array'],
    ['a', 'filter', 'a string'],
    [{ $and: {} }, 'filter.$and', 'an object'],
    [{ $or: [] }, 'filter.$or', 'an empty array'],
    [{ $or: [{ a: 1 }, 3] }, 'filter.$or[1]', '3'],
    [{ $not: [] }, 'filter.$not', 'an empty array'],
    [{ $and: [{ a: 1 }, {}, { price: { $gt: true } }] }, 'filter.$and[2].price.$gt', 'true'],
    [{ a: { $lt: null } }, 'filter.a.$lt', 'null'],
    [{ a: { $gte: Number.POSITIVE_INFINITY } }, 'filter.a.$gte', 'not a finite number'],
    [{ a: { $in: 'x' } }, 'filter.a.$in', 'a string'],
    [{ a: { $nin: [1, [2]] } }, 'filter.a.$nin[1]', 'an array of 1'],
    [{ a: { $eq: {} } }, 'filter.a.$eq', 'an object'],
    [{ a: { $exists: 1 } }, 'filter.a.$exists', '1'],
    [{ a: { $not: 4 } }, 'filter.a.$not', '4'],
    [{ a: [1, 2] }, 'filter.a', '$in'],
    [{ a: {} }, 'filter.a', '{}'],
    [{ 'odd name': { $gt: [] } }, 'filter["odd name"].$gt', 'an empty array'],
  ])('refuses %j at %s', (filter, path, got) => {
    const error = refusal(filter);
    expect(error.code).toBe('INVALID_FILTER');
    expect(error.status).toBe(400);
    expect(error.details?.[0].path).toBe(path);
    expect(error.message).toContain(got);
  });

  test.each([
    [{ a: { $greater: 1 } }, '$gte'],
    [{ a: { $nim: [] } }, '$nin'],
    [{ $an: [] }, '$and'],
    [{ a: { $or: [] } }, 'does not belong here'],
    [{ $gt: 1 }, 'does not belong here'],
    [{ a: { b: 1 } }, 'dotted'],
  ])('suggests an operator for the unknown one in %j', (filter, advice) => {
    expect(refusal(filter).message).toContain(advice);
  });

  test('limits levels, conditions and values', () => {
    expect(parseFilter(nested(LIMITS.filterMaxLevels), LIMITS)).not.toBeNull();
    expect(refusal(nested(LIMITS.filterMaxLevels + 1)).message).toContain('levels');
    const or = (n: number) => ({ $or: Array.from({ length: n }, () => ({ a: 1 })) });
    expect(refusal(or(LIMITS.filterMaxConditions + 1)).message).toContain('conditions');
    const values = (n: number) => ({ a: { $in: Array.from({ length: n }, (_, i) => i) } });
    expect(parseFilter(values(LIMITS.filterMaxInValues), LIMITS)).not.toBeNull();
    expect(refusal(values(LIMITS.filterMaxInValues + 1)).message).toContain('at most 10000');
    const lists = (n: number) => ({ $or: Array.from({ length: n }, () => values(LIMITS.filterMaxInValues)) });
    expect(parseFilter(lists(10), LIMITS)).not.toBeNull();
    expect(refusal(lists(11)).message).toBe(
      'The filter must have at most 100000 values in all of its lists, but has more at filter.$or[10].a.$in.',
    );
    expect(refusal({ $or: Array.from({ length: 300 }, () => ({})) }).message).toContain('conditions');
    let deepNot: unknown = { $gt: 1 };
    for (let i = 0; i < 9; i++) deepNot = { $not: deepNot };
    expect(refusal({ a: deepNot }).message).toContain('levels');
  });

  test('counts $exists: true with $ne or $nin as one condition', () => {
    const fields = (size: number, operators: object) =>
      Object.fromEntries(Array.from({ length: size }, (_, at) => [`f${at}`, operators]));
    const most = LIMITS.filterMaxConditions;
    for (const negation of [{ $ne: 1 }, { $nin: [1] }]) {
      expect(parseFilter(fields(most, { $exists: true, ...negation }), LIMITS)).not.toBeNull();
      expect(refusal(fields(most + 1, { $exists: true, ...negation })).message).toContain('conditions');
      expect(refusal(fields(most, { $exists: false, ...negation })).message).toContain('conditions');
    }
    expect(refusal(fields(most, { $exists: true, $eq: 1 })).message).toContain('conditions');
  });

  test('accepts exactly the maximum number of conditions', () => {
    const or = { $or: Array.from({ length: LIMITS.filterMaxConditions }, () => ({ a: 1 })) };
    expect(parseFilter(or, LIMITS)).not.toBeNull();
  });
});
