/**
 * Whether tests run at full length, as in the long suites (`test/run-long.ts`). In the gate they
 * only do what is deterministic and short.
 */
export const isThorough = process.env.PROVEC_TEST_LONG === '1';

/**
 * Number of cases per property: `thorough` in the long suites; in the gate a quarter, always the
 * same cases.
 */
export const propertyRuns = (thorough: number): number => (isThorough ? thorough : Math.ceil(thorough / 4));

/** Shard counts for tests that run on several; the long suites add a larger one. */
export const SHARD_COUNTS: readonly number[] = isThorough ? [1, 4, 16] : [1, 4];
