import { type Backing, bestBacking } from '../../support/backing-services.ts';
import { isThorough } from '../../support/effort.ts';

const LOCAL = 'SQLite + TCP';

/**
 * Backing services to run cases on: with servers when available, and in thorough runs also without.
 * PROVEC_TEST_CHAOS=local selects only the latter.
 */
export async function selectedBackings(): Promise<Backing[]> {
  if (process.env.PROVEC_TEST_CHAOS === 'local') return [LOCAL];
  const best = await bestBacking();
  return isThorough && best !== LOCAL ? [LOCAL, best] : [best];
}
