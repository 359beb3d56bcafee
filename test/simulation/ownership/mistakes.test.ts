import { expect, jest, test } from '@jest/globals';

// Collecting garbage in a test's heap would take most of the time and change nothing.
jest.unstable_mockModule('../../../process/garbage.ts', () => ({
  collectGarbage: () => undefined,
  GarbageAfterGrowth: class {
    reportSize(): void {}
  },
}));
const { World } = await import('./world.ts');
const { MISTAKES } = await import('./mistakes.ts');

const SEEDS_MAX = 400;

/** The first seed whose run has the right profile and finds the mistake; null when none does. */
async function firstSeed(name: string): Promise<number | null> {
  const { defects, found, profile } = MISTAKES[name]!;
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const world = new World(seed, defects());
    if (world.profile.name !== profile) continue;
    const { faults } = await world.run();
    if (faults.some((fault) => found.test(fault))) return seed;
  }
  return null;
}

test.each(Object.keys(MISTAKES))(
  `finds, within ${SEEDS_MAX} seeds, %s`,
  async (name) => {
    expect(await firstSeed(name)).not.toBeNull();
  },
  SEEDS_MAX * 2_000,
);
