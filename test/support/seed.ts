/** The seed of all random choices of a test, those of fast-check included. */

/** Fixed seed of the gate. Long suites get a new one from `test/run-long.ts`, which prints it. */
const GATE_SEED = 20_261_122;

/** An integer from 0 to 2^31 - 1. PROVEC_TEST_SEED replays a run. */
export const seed = Number(process.env.PROVEC_TEST_SEED ?? GATE_SEED);
if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
  throw new Error('PROVEC_TEST_SEED is a whole number from 0 to 2147483647.');
