import { beforeAll, describe, expect, test } from '@jest/globals';
import type { UsageReport } from '../../contracts/actions/metering.ts';
import { refusal } from '../support/refusal.ts';
import { type SharedService, shareService } from '../support/shared-service.ts';

let service: SharedService;
beforeAll(async () => {
  service = await shareService();
  await service.api('POST', '/collections', { name: 'filtered', dimensions: 1 });
});

const query = (filter: unknown) =>
  service.api<{ error: string }>('POST', '/collections/filtered/query', { vector: [1], filter });
const detailed = (path: string) =>
  refusal(400, 'INVALID_FILTER', { details: [{ path, expected: expect.any(String), got: expect.any(String) }] });
const levels = (count: number): object => (count === 1 ? { a: 1 } : { $not: levels(count - 1) });

describe('a refusal names the path of the fault', () => {
  test.each<[string, unknown, string]>([
    ['text', 'a = 1', 'filter'],
    ['a list', [{ a: 1 }], 'filter'],
    ['null', null, 'filter'],
    ['an unknown operator', { a: { $regex: 'x' } }, 'filter.a.$regex'],
    ['an unknown operator on top', { $nor: [{ a: 1 }] }, 'filter.$nor'],
    ['an operator without $', { a: { gt: 1 } }, 'filter.a.gt'],
    ['an operator in another case', { a: { $GT: 1 } }, 'filter.a.$GT'],
    ['a comparison on top', { $gt: 1 }, 'filter.$gt'],
    ['a logical operator under a field', { a: { $or: [1, 2] } }, 'filter.a.$or'],
    ['an object for a path', { a: { b: 1 } }, 'filter.a.b'],
    ['an object without operators', { a: {} }, 'filter.a'],
    ['a list without $in', { a: [1, 2] }, 'filter.a'],
    ['$gt with a boolean', { a: { $gt: true } }, 'filter.a.$gt'],
    ['$gte with null', { a: { $gte: null } }, 'filter.a.$gte'],
    ['$lt with a list', { a: { $lt: [1] } }, 'filter.a.$lt'],
    ['$lte with an object', { a: { $lte: {} } }, 'filter.a.$lte'],
    ['$eq with a list', { a: { $eq: [1] } }, 'filter.a.$eq'],
    ['$ne with an object', { a: { $ne: {} } }, 'filter.a.$ne'],
    ['$in without a list', { a: { $in: 1 } }, 'filter.a.$in'],
    ['$nin with an object in the list', { a: { $nin: [1, {}] } }, 'filter.a.$nin[1]'],
    ['$in with a list in the list', { a: { $in: [[1]] } }, 'filter.a.$in[0]'],
    ['$exists with 1', { a: { $exists: 1 } }, 'filter.a.$exists'],
    ['$and without a list', { $and: { a: 1 } }, 'filter.$and'],
    ['$or with nothing', { $or: [] }, 'filter.$or'],
    ['$or with text in the list', { $or: [{ a: 1 }, 'b'] }, 'filter.$or[1]'],
    ['$not with a value', { $not: 1 }, 'filter.$not'],
    ['$not under a field with a value', { a: { $not: 1 } }, 'filter.a.$not'],
    [
      'something deep inside',
      { $and: [{ a: 1 }, { $or: [{ b: { $in: [1, [2]] } }] }] },
      'filter.$and[1].$or[0].b.$in[1]',
    ],
    ['something under a name with a blank', { 'a b': { $gt: null } }, 'filter["a b"].$gt'],
    ['something under __proto__-like names', { constructor: { $gt: null } }, 'filter.constructor.$gt'],
    ['10,001 values', { a: { $in: Array(10_001).fill(1) } }, 'filter.a.$in'],
  ])('%s', async (_, filter, path) => {
    const answer = await query(filter);
    expect(answer).toEqual(detailed(path));
    expect(answer.body.error).toContain(path);
  });

  test.each<[string, object]>([
    ['nine levels', levels(9)],
    ['257 conditions', { $or: Array.from({ length: 257 }, (_, at) => ({ a: at })) }],
    ['257 conditions by fields', Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`f${at}`, at]))],
  ])('refuses %s', async (_, filter) => {
    const answer = await query(filter);
    expect(answer).toEqual(
      refusal(400, 'INVALID_FILTER', {
        details: [{ path: expect.stringMatching(/^filter/), expected: expect.stringMatching(/^at most/), got: 'more' }],
      }),
    );
    expect(answer.body.error).toMatch(/filter/);
  });

  test('suggests the operator for a misspelt one', async () => {
    const { body } = await query({ a: { $gtt: 1 } });
    expect(body.error).toContain('$gt');
    expect((await query({ $an: [] })).body.error).toContain('$and');
  });

  test.each<[unknown, string]>([
    [{ $eq: 1 }, 'filter.$eq does not belong here; use one of $and, $or, $not.'],
    [{ a: { $regex: 'x' } }, 'filter.a.$regex is not an operator; known: $eq, $ne, $gt, '],
    [{ a: { $gtt: 1 } }, 'filter.a.$gtt is not an operator; did you mean $gt? Known: $eq, '],
    [{ a: { gt: 1 } }, 'filter.a.gt is not an operator; did you mean $gt? Known: $eq, '],
    [{ a: { b: 1 } }, 'filter.a.b is not an operator; write a nested field as one dotted name.'],
    [{ a: { $in: '' } }, 'filter.a.$in must be a list of values, but is an empty string.'],
    [{ a: { $in: 'x' } }, 'filter.a.$in must be a list of values, but is a string of 1 character.'],
  ])('refuses %j with a fitting message', async (filter, words) => {
    expect((await query(filter)).body.error).toContain(words);
  });
});

test('accepts eight levels', async () => {
  expect(await query(levels(8))).toMatchObject({ status: 200 });
});

test('a refused query does not count', async () => {
  const used = async () => (await service.api<UsageReport>('GET', '/usage')).body.usage.query_count;
  const before = await used();
  await query({ a: { $regex: 'x' } });
  await query({});
  expect(await used()).toBe(before + 1);
});
