/**
 * Every random choice of a test follows from one seed: this one, for what asks here and for
 * fast-check.
 */

/**
 * The gate's, always the same. Long suites get a fresh one from `test/run-long.ts`, which prints
 * it.
 */
const GATE_SEED = 20_261_122;

/** A whole number from 0 to 2^31 - 1; PROVEC_TEST_SEED replays a run. */
export const seed = Number(process.env.PROVEC_TEST_SEED ?? GATE_SEED);
if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 31)
  throw new Error('PROVEC_TEST_SEED is a whole number from 0 to 2147483647.');
