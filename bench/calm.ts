import { setTimeout as delay } from 'node:timers/promises';
import type { LoadFigures } from './load.ts';
import { cpuSeconds } from './process-figures.ts';

/** A round is calm when the host gave less than this share of the CPU to other guests. */
const CALM_SHARE = 0.01;
const CALM_ROUNDS = 3;
const ROUNDS_MAX = 12;
/** Pause between rounds: a host that allots CPU by credits refills some of them. */
const PAUSE_MS = 1_000;
const REST_SHARE = 0.03;
/** Consecutive idle seconds required: V8 frees a load's memory some seconds after the load. */
const REST_LOOKS = 8;
const REST_MAX_MS = 60_000;

export interface CalmFigures extends LoadFigures {
  rounds: number;
}

/**
 * Repeats a round until three were calm, at most twelve times. Returns the figures of the median
 * round, by p50, of the three rounds with the least stolen CPU.
 */
export async function medianOfCalmest(round: () => Promise<LoadFigures>): Promise<CalmFigures> {
  const rounds: LoadFigures[] = [];
  while (rounds.length < ROUNDS_MAX && rounds.filter(({ stolen }) => stolen < CALM_SHARE).length < CALM_ROUNDS) {
    if (rounds.length > 0) await delay(PAUSE_MS);
    rounds.push(await round());
  }
  const calm = rounds.toSorted((a, b) => a.stolen - b.stolen).slice(0, CALM_ROUNDS);
  const middle = calm.toSorted((a, b) => a.p50Ms - b.p50Ms)[Math.floor(calm.length / 2)]!;
  return { ...middle, rounds: rounds.length };
}

/**
 * Waits until a process is almost idle. Returns how many seconds that took, or null after a minute.
 */
export async function untilIdle(pid: number): Promise<number | null> {
  const startedMs = performance.now();
  for (let quiet = 0; quiet < REST_LOOKS; ) {
    if (performance.now() - startedMs > REST_MAX_MS) return null;
    const before = cpuSeconds(pid);
    await delay(1_000);
    quiet = cpuSeconds(pid) - before < REST_SHARE ? quiet + 1 : 0;
  }
  return (performance.now() - startedMs) / 1_000;
}
