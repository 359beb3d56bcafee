import { expect } from '@jest/globals';
import { isThorough } from './effort.ts';

/**
 * Holds a duration, or a ratio of two, against its bound: in the long suites. The gate asserts
 * nothing about time, for its machine may be busy with others.
 */
export function expectDurationBelow(actual: number, bound: number): void {
  expect(actual).not.toBeNaN();
  if (isThorough) expect(actual).toBeLessThan(bound);
}
