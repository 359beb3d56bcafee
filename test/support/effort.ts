/**
 * Whether tests do all that they can: in the long suites (`test/run-long.ts`). In the gate they do
 * what is certain and short.
 */
export const isThorough = process.env.PROVEC_TEST_LONG === '1';

/**
 * How many cases a property is tried on: `thorough` in the long suites, and a quarter of them,
 * always the same, in the gate.
 */
export const cases = (thorough: number): number => (isThorough ? thorough : Math.ceil(thorough / 4));
