import { type Backing, bestBacking } from '../../support/backing-services.ts';
import { isThorough } from '../../support/effort.ts';

const LOCAL = 'SQLite + TCP';

/**
 * The stores that cases run on: with servers where there are any, and when thorough also without;
 * with PROVEC_TEST_CHAOS=local only without.
 */
export async function backings(): Promise<Backing[]> {
  if (process.env.PROVEC_TEST_CHAOS === 'local') return [LOCAL];
  const best = await bestBacking();
  return isThorough && best !== LOCAL ? [LOCAL, best] : [best];
}
