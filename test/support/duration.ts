import { expect } from '@jest/globals';
import { isThorough } from './effort.ts';

/**
 * Expects a duration, or a ratio of two, below a bound, but only in the long suites: the gate
 * asserts nothing about time, because its machine may be busy.
 */
export function expectDurationBelow(actual: number, bound: number): void {
  expect(actual).not.toBeNaN();
  if (isThorough) expect(actual).toBeLessThan(bound);
}
