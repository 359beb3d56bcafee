import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ErrorCode } from '../../../lib/errors.ts';
import { expectDurationBelow } from '../../support/duration.ts';
import { expectRefusal, hostileRequest, LOOP_HELD_MAX_MS } from '../../support/hostile-request.ts';
import { type HostileService, hostileService } from '../../support/hostile-service.ts';

const LONG = 'a'.repeat(200_000);
/** Nearly as long as the name of a field may be. */
const LONGEST_NAME = 'a'.repeat(15_000);

let service: HostileService;
beforeAll(async () => {
  service = await hostileService();
  await service.api('POST', '/collections', { name: 'demo', dimensions: 2, shards: 4 });
  for (let at = 0; at < 2_000; at += 1_000) {
    const records = Array.from({ length: 1_000 }, (_, i) => ({
      id: `r${at + i}`,
      values: [1, at + i],
      metadata: { n: at + i, text: `${'a'.repeat(50)}${i}`, deep: { er: [at, i] } },
    }));
    await service.api('POST', '/collections/demo/upsert', { records });
  }
});
afterAll(() => service.stop());

const query = (filter: string) =>
  hostileRequest(service, 'POST', '/collections/demo/query', `{"vector":[1,2],"filter":${filter}}`);
const nested = (levels: number, operator: string) =>
  `${`{"${operator}":[`.repeat(levels)}{"n":1}${']}'.repeat(levels)}`;
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, at) => at + from).join();

describe('refused', () => {
  test.each<[string, string, ErrorCode]>([
    ['9 levels of $or', nested(8, '$or'), 'INVALID_FILTER'],
    ['30 levels of $and', nested(30, '$and'), 'INVALID_FILTER'],
    ['5,000 levels of $or', nested(5_000, '$or'), 'INVALID_JSON'],
    ['9 levels of $not', `${'{"$not":'.repeat(8)}{"n":1}${'}'.repeat(8)}`, 'INVALID_FILTER'],
    ['9 levels of $not in a field', `{"n":${'{"$not":'.repeat(8)}{"$eq":1}${'}'.repeat(8)}}`, 'INVALID_FILTER'],
    ['10,001 values of $in', `{"n":{"$in":[${numbers(10_001)}]}}`, 'INVALID_FILTER'],
    ['a million values of $nin', `{"n":{"$nin":[${numbers(1_000_000)}]}}`, 'INVALID_FILTER'],
    ['257 conditions in $or', `{"$or":[${'{"n":1},'.repeat(256)}{"n":1}]}`, 'INVALID_FILTER'],
    ['257 fields', `{${Array.from({ length: 257 }, (_, at) => `"f${at}":1`).join()}}`, 'INVALID_FILTER'],
    ['100,000 empty filters', `{"$and":[${'{},'.repeat(100_000)}{}]}`, 'INVALID_FILTER'],
    ['a tree of 8 levels', `{"$or":[${`${nested(6, '$and')},`.repeat(300)}{}]}`, 'INVALID_FILTER'],
    [
      '10,000 values in each of 200 $in',
      `{"$or":[${`{"n":{"$in":[${numbers(10_000)}]}},`.repeat(200)}{}]}`,
      'INVALID_FILTER',
    ],
    ['an operator of 200 KB', `{"n":{"$${LONG}":1}}`, 'INVALID_ARGUMENT'],
    ['a field of 200 KB', `{"${LONG}":1}`, 'INVALID_ARGUMENT'],
    ['a path of 50,000 parts', `{"${'a.'.repeat(50_000)}a":1}`, 'INVALID_ARGUMENT'],
    ['an operator of 200 KB above', `{"$${LONG}":[]}`, 'INVALID_ARGUMENT'],
    ['an operator of 15 KB', `{"n":{"$${LONGEST_NAME}":1}}`, 'INVALID_FILTER'],
    ['$regex', `{"text":{"$regex":"(a+)+$"}}`, 'INVALID_FILTER'],
    ['$where', `{"$where":"while(true){}"}`, 'INVALID_FILTER'],
    ['a list as operand', `{"n":[[[[[[[[1]]]]]]]]}`, 'INVALID_FILTER'],
  ])('%s', async (_, filter, code) => {
    const { error } = expectRefusal(await query(filter), code) as { error: string };
    expect(error.length).toBeLessThan(1_000);
  });
});

describe('harmless', () => {
  test.each<[string, string, number]>([
    ['8 levels', nested(7, '$or'), 1],
    ['10,000 values of $in', `{"n":{"$in":[${numbers(10_000)}]}}`, 10],
    ['256 conditions', `{"$or":[${Array.from({ length: 256 }, (_, at) => `{"n":${at}}`).join()}]}`, 10],
    ['a value built for a greedy pattern', `{"text":"${LONG}!"}`, 0],
    ['a field built for a greedy pattern', `{"${LONGEST_NAME}!":1}`, 0],
    ['a path of 7,500 parts', `{"${'a.'.repeat(7_500)}a":1}`, 0],
    ['a path of dots', `{"${'.'.repeat(15_000)}":1}`, 0],
    [
      '256 paths of 200 parts',
      `{"$or":[${Array.from({ length: 256 }, (_, at) => `{"${'deep.'.repeat(200)}${at}":1}`).join()}]}`,
      0,
    ],
    [
      '10,000 long values of $in',
      `{"text":{"$in":[${Array.from({ length: 10_000 }, (_, at) => `"${'a'.repeat(1_000)}${at}"`).join()}]}}`,
      0,
    ],
  ])('%s', async (_, filter, found) => {
    const { status, text, heldMs } = await query(filter);
    expect({ status, found: JSON.parse(text).matches?.length }).toEqual({ status: 200, found });
    expectDurationBelow(heldMs, LOOP_HELD_MAX_MS);
  });
});
