import { expect, test } from '@jest/globals';
import { RECEIVED_CALLS_LIMITS, ReceivedCalls } from '../../../transport/received-calls.ts';

const WRITE = 'shards.upsert';
const READ = 'shards.query';

function received(limits: Partial<Record<keyof typeof RECEIVED_CALLS_LIMITS, number>> = {}) {
  const time = { nowMs: 1_000_000 };
  const sent: string[] = [];
  const calls = new ReceivedCalls({
    monotonicMs: () => time.nowMs,
    isRepeatable: (action) => action === READ,
    limits: { ...RECEIVED_CALLS_LIMITS, ...limits },
  });
  /** A call that arrives, runs and is answered. */
  const done = (id: string, action = WRITE, bytes = 10): void => {
    expect(calls.arrived(id, action)).toBe(true);
    calls.answer(id, Buffer.alloc(bytes), async (data) => void sent.push(`${id}: ${data.byteLength}`));
    calls.ended(id);
  };
  return { time, sent, calls, done };
}

test('a call is running until it has ended, and then answered', async () => {
  const { calls, sent } = received();
  calls.arrived('a', WRITE);
  expect(calls.status('a', WRITE, 2_000)).toBe('running');
  calls.answer('a', Buffer.from('answer'), async (data) => void sent.push(data.toString()));
  expect(calls.status('a', WRITE, 2_000)).toBe('running');
  calls.ended('a');
  expect(calls.status('a', WRITE, 2_000)).toBe('answered');
  await calls.answerOf('a')!();
  expect(sent).toEqual(['answer']);
});

test('a call that never arrived is lost, and does not run later', () => {
  const { calls } = received();
  expect(calls.status('a', WRITE, 2_000)).toBe('lost');
  expect(calls.arrived('a', WRITE)).toBe(false);
  expect(calls.status('a', WRITE, 3_000)).toBe('lost');
});

test('a call that ended without an answer is not reported lost', () => {
  const { calls } = received();
  calls.arrived('a', WRITE);
  calls.ended('a');
  expect(calls.status('a', WRITE, 2_000)).toBe('answered');
  expect(calls.answerOf('a')).toBeNull();
});

test('nothing is kept of a call that may be made twice', () => {
  const { calls, done } = received();
  done('a', READ);
  expect(calls.status('a', READ, 2_000)).toBe('unknown');
  expect(calls.status('never came', READ, 2_000)).toBe('unknown');
});

test('a large answer is not kept, but the fact that there was one is', () => {
  const { calls, done } = received({ answerMaxBytes: 100 });
  done('a', WRITE, 101);
  expect(calls.status('a', WRITE, 2_000)).toBe('answered');
  expect(calls.answerOf('a')).toBeNull();
});

test.each([
  ['number', { answeredMax: 2 }],
  ['bytes', { answersMaxBytes: 20 }],
])('after too many answers (%s) no call is reported as never arrived', (_, limits) => {
  const { calls, done, time } = received(limits);
  done('a');
  time.nowMs += 10_000;
  for (const id of ['b', 'c']) done(id);
  // It may be 'a', which has been forgotten.
  expect(calls.status('a', WRITE, 10_500)).toBe('unknown');
  expect(calls.arrived('a', WRITE)).toBe(true);
  // A call sent long after 'a' was answered cannot have been forgotten.
  expect(calls.status('d', WRITE, 2_000)).toBe('lost');
});

test('answers are forgotten in time', () => {
  const { calls, done, time } = received({ answeredMaxAgeMs: 1_000 });
  done('a');
  time.nowMs += 5_000;
  done('b');
  expect(calls.status('a', WRITE, 5_000)).toBe('unknown');
  expect(calls.status('b', WRITE, 1)).toBe('answered');
});

test('the number of refused calls is bounded', () => {
  const { calls } = received({ refusedMax: 2 });
  for (const id of ['a', 'b', 'c']) expect(calls.status(id, WRITE, 2_000)).toBe('lost');
  expect(calls.arrived('c', WRITE)).toBe(false);
  expect(calls.arrived('b', WRITE)).toBe(false);
  expect(calls.arrived('a', WRITE)).toBe(true);
});
