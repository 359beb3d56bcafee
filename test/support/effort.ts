/** Whether tests do all that they can: in the long suites (`test/run-long.ts`). In the gate they do what is certain and short. */
export const isThorough = process.env.PROVEC_TEST_LONG === '1';
