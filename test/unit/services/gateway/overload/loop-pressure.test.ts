import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { LoopPressure } from '../../../../../services/gateway/overload/loop-pressure.ts';
import { until } from '../../../../support/until.ts';

let nowMs = 0;
let pressure: LoopPressure;
let partsRisen: number[];
beforeEach(() => {
  partsRisen = [];
  pressure = new LoopPressure(
    () => nowMs,
    () => partsRisen.push(pressure.part),
  );
});
afterEach(() => pressure.close());

/** Keeps the event loop busy until the condition holds. */
async function workUntil(condition: () => boolean): Promise<void> {
  while (!condition()) {
    for (const startMs = performance.now(); performance.now() - startMs < 5; );
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('the part of an account falls while the loop is busy with several, and recovers', async () => {
  pressure.came('a');
  pressure.came('b');
  expect(pressure.part).toBe(1);
  await workUntil(() => pressure.part === 1 / 8);
  await until('the loop has been idle', () => pressure.part === 1);
  expect(partsRisen.at(-1)).toBe(1);
});

test('an account that is alone keeps all, also a second after the others have left', async () => {
  pressure.came('a');
  pressure.came('b');
  await workUntil(() => pressure.part < 1);
  nowMs += 999;
  for (let times = 0; times < 10; times++) pressure.came('b');
  expect(pressure.part).toBeLessThan(1);
  nowMs += 1;
  expect(pressure.part).toBe(1);
  await until('the queues have been told', () => partsRisen.at(-1) === 1);
});
