import { expect, test } from '@jest/globals';
import { CoalescedReads } from '../../../../lib/time/coalesced-reads.ts';
import { VirtualTime } from '../../../simulation/ownership/virtual-time.ts';

/**
 * A changing value that takes `tookMs` to read. A read returns the value at the moment when it was
 * sent.
 */
function world(tookMs: () => number) {
  const time = new VirtualTime();
  const seen = { value: 0, readings: 0, underWay: 0, mostAtOnce: 0 };
  const reads = new CoalescedReads<number>(time);
  const get = (key = 'a') =>
    reads.get(key, async () => {
      const { value } = seen;
      seen.readings++;
      seen.mostAtOnce = Math.max(seen.mostAtOnce, ++seen.underWay);
      await time.delay(tookMs());
      seen.underWay--;
      return value;
    });
  return { time, seen, get };
}

test('a lone request is read for at once', async () => {
  const { time, seen, get } = world(() => 10);
  for (const value of [1, 2]) {
    seen.value = value;
    const asked = get();
    expect(seen.underWay).toBe(1);
    await time.run(time.nowMs + 10);
    expect(await asked).toBe(value);
  }
  expect(seen.readings).toBe(2);
});

test('requests during a read share the next one, and get a state from after they asked', async () => {
  const { time, seen, get } = world(() => 100);
  const first = get();
  await time.run(50);
  seen.value = 1;
  const others = Array.from({ length: 100 }, () => get());
  await time.run(99);
  expect(seen.readings).toBe(1);
  await time.run(1_000);
  expect(await first).toBe(0);
  expect(new Set(await Promise.all(others))).toEqual(new Set([1]));
  expect(seen.readings).toBe(2);
});

test('keys do not wait for each other', async () => {
  const { time, seen, get } = world(() => 100);
  const asked = [get('a'), get('b')];
  expect(seen.underWay).toBe(2);
  await time.run(100);
  expect(await Promise.all(asked)).toEqual([0, 0]);
});

test('slow reads are repeated less often: one more for each 0.5 s that one takes', async () => {
  const { time, seen, get } = world(() => 2_000);
  const asked: Promise<number>[] = [];
  for (let at = 0; at < 10_000; at += 10) {
    await time.run(at);
    asked.push(get());
  }
  await time.run(20_000);
  expect(await Promise.all(asked)).toHaveLength(1_000);
  expect(seen.mostAtOnce).toBeLessThanOrEqual(5);
  expect(seen.readings).toBeLessThanOrEqual(21);
});

test('a failed read fails for its own requests, and for none after them', async () => {
  const time = new VirtualTime();
  const reads = new CoalescedReads<string>(time);
  const failing = async () => {
    await time.delay(10);
    throw new Error('not there');
  };
  const asked = Promise.allSettled([reads.get('a', failing), reads.get('a', failing), reads.get('a', failing)]);
  await time.run(100);
  expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  await expect(reads.get('a', async () => 'there')).resolves.toBe('there');
});
