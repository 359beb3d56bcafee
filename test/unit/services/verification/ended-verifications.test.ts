import { beforeEach, expect, test } from '@jest/globals';
import type { Verification } from '../../../../contracts/actions/verification.ts';
import { INTERNAL_LIMITS } from '../../../../lib/limits.ts';
import { EndedVerifications } from '../../../../services/verification/ended-verifications.ts';

const { verificationKeptMaxMs, verificationsKeptMaxBytes, verificationsKeptPerCollectionMax } = INTERNAL_LIMITS;
const LARGE_BYTES = 1024 * 1024;

let nowMs: number;
let ended: EndedVerifications;
beforeEach(() => {
  nowMs = 0;
  ended = new EndedVerifications({ monotonicMs: () => nowMs });
});

const of = (id: string, accountId = 'ann') => ({ id, accountId, name: 'docs' });
const TIMES = { startedAt: '2026-11-28T00:00:00.000Z', endedAt: '2026-11-28T00:00:01.000Z' };
function failed(id: string, message = ''): Verification {
  return { id, state: 'failed', progress: { scanned: 0, total: 1 }, error: { code: 'INTERNAL', message } };
}
/** A verification that counts as one mebibyte. */
const large = (id: string): Verification => failed(id, 'x'.repeat(LARGE_BYTES / 2));

test('each is kept for an hour from its end, only under its own collection', () => {
  ended.add(of('one'), failed('first'), TIMES);
  nowMs = 1_000;
  ended.add(of('one'), failed('second'), TIMES);
  nowMs = verificationKeptMaxMs - 1;
  expect(ended.get('one', 'first')).toEqual(failed('first'));
  expect(ended.get('two', 'first')).toBeNull();
  nowMs = verificationKeptMaxMs;
  expect(ended.get('one', 'first')).toBeNull();
  expect(ended.get('one', 'second')).toEqual(failed('second'));
  nowMs += 1_000;
  expect(ended.get('one', 'second')).toBeNull();
});

test('the last ten of a collection are kept, whatever other collections have', () => {
  ended.add(of('other'), failed('other'), TIMES);
  const ids = Array.from({ length: verificationsKeptPerCollectionMax + 3 }, (_, at) => `v${at}`);
  for (const id of ids) ended.add(of('one'), failed(id), TIMES);
  const kept = ids.filter((id) => ended.get('one', id) !== null);
  expect(kept).toEqual(ids.slice(3));
  expect(ended.get('other', 'other')).not.toBeNull();
});

test('memory is bounded in total, and an account with too much loses its own', () => {
  const most = verificationsKeptMaxBytes / LARGE_BYTES;
  const ids = Array.from({ length: 2 * most }, (_, at) => `v${at}`);
  ended.add(of('small', 'ben'), failed('small'), TIMES);
  for (const id of ids) ended.add(of(`of ${id}`), large(id), TIMES);
  const kept = () => ids.filter((id) => ended.get(`of ${id}`, id) !== null);
  const alone = kept();
  expect(alone).toEqual(ids.slice(-alone.length));
  expect(alone.length).toBeGreaterThan(most / 2);
  expect(alone.length).toBeLessThan(most);
  expect(ended.get('small', 'small')).not.toBeNull();
  // Every account can add its first verification, at the cost of the oldest one.
  for (let at = 0; at < most; at++) {
    ended.add(of(`large ${at}`, `account ${at}`), large(`large ${at}`), TIMES);
    expect(ended.get(`large ${at}`, `large ${at}`)).not.toBeNull();
  }
  expect(kept()).toEqual([]);
  expect(ended.get('small', 'small')).toBeNull();
});

test('one that is larger than the total bound is kept alone', () => {
  ended.add(of('one'), failed('before'), TIMES);
  ended.add(of('two'), failed('huge', 'x'.repeat(verificationsKeptMaxBytes)), TIMES);
  expect([ended.get('one', 'before'), ended.get('two', 'huge')?.id]).toEqual([null, 'huge']);
  ended.add(of('one', 'ben'), failed('after'), TIMES);
  expect([ended.get('two', 'huge'), ended.get('one', 'after')?.id]).toEqual([null, 'after']);
});
