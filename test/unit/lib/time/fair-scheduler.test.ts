/**
 * Which account's read runs next on a store's thread. Each read takes one simulated millisecond.
 */
import { beforeEach, expect, test } from '@jest/globals';
import { FairScheduler } from '../../../../lib/time/fair-scheduler.ts';

let nowMs: number;
let later: (() => void)[];
let scheduler: FairScheduler;
let done: string[];
beforeEach(() => {
  nowMs = 0;
  later = [];
  done = [];
  scheduler = new FairScheduler({ later: (run) => void later.push(run), monotonicMs: () => nowMs });
});

function submit(accountId: string, reads: number, tookMs = 1): void {
  for (let i = 0; i < reads; i++) {
    scheduler.submit(accountId, () => {
      nowMs += tookMs;
      done.push(accountId);
    });
  }
}

function turn(): void {
  for (const run of later.splice(0)) run();
}

test('a read waits for one of each other account, however many those send', () => {
  submit('noisy', 500);
  submit('busy', 500);
  turn();
  done = [];
  submit('calm', 1);
  while (!done.includes('calm')) turn();
  expect(done.indexOf('calm')).toBeLessThanOrEqual(2);
});

test('accounts get the same time, however long their reads take', () => {
  submit('long', 100, 10);
  submit('short', 1_000, 1);
  while (nowMs < 500) turn();
  const [long, short] = ['long', 'short'].map((name) => done.filter((one) => one === name).length);
  expect(Math.abs(long! * 10 - short!)).toBeLessThanOrEqual(20);
});

test('unused time is not saved up', () => {
  submit('idle', 1);
  submit('noisy', 100);
  while (done.length < 90) turn();
  submit('idle', 20);
  done = [];
  for (let turns = 0; turns < 3; turns++) turn();
  expect(done.filter((one) => one === 'noisy').length).toBeGreaterThanOrEqual(4);
});

test("an account's reads run in order, a turn ends after some milliseconds, and drain runs the rest", () => {
  const order: number[] = [];
  for (let i = 0; i < 20; i++) {
    scheduler.submit('a', () => {
      nowMs += 1;
      order.push(i);
    });
  }
  turn();
  expect(order.length).toBeLessThan(10);
  scheduler.drain();
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i));
  turn();
  expect(order).toHaveLength(20);
});

test('accounts that send one read and no more are forgotten while others keep the thread busy', () => {
  submit('busy', 1_000);
  for (let i = 0; i < 100; i++) {
    submit(`passing ${i}`, 1);
    turn();
  }
  expect(done.filter((one) => one.startsWith('passing'))).toHaveLength(100);
  expect(done.length).toBeLessThan(1_000);
  expect(scheduler.remembered).toBeLessThan(10);
});

test('an account that used time in advance waits for it even after being idle for a moment', () => {
  submit('long', 1, 100);
  submit('short', 1_000);
  while (!done.includes('long')) turn();
  submit('long', 1, 100);
  done = [];
  while (!done.includes('long')) turn();
  expect(done.length).toBeGreaterThan(90);
});

test('an eager scheduler runs work at once while nothing waits and the turn has time left', () => {
  scheduler = new FairScheduler({
    isEager: true,
    turnMs: 2,
    later: (run) => void later.push(run),
    monotonicMs: () => nowMs,
  });
  submit('a', 1);
  submit('b', 1);
  expect(done).toEqual(['a', 'b']);
  submit('a', 2);
  expect(done).toHaveLength(2);
  turn();
  submit('c', 1);
  expect(done).toEqual(['a', 'b', 'a', 'a']);
  turn();
  expect(done.at(-1)).toBe('c');
});

test('run returns what the work returns, and rejects with what it throws', async () => {
  const value = scheduler.run('a', () => 7);
  const failure = scheduler.run('a', () => {
    throw new RangeError('too long');
  });
  // Handled here before the turn rejects it.
  const outcome = expect(failure).rejects.toThrow('too long');
  turn();
  await expect(value).resolves.toBe(7);
  await outcome;
});
