import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { post, type Target } from './http-request.ts';

const PAUSE_MS = 20;

export interface Absence {
  /** The longest time in which nobody got an answer, over all that were asked for. */
  longestMs: number;
  /** Answers other than 200. */
  failures: number;
}

/** One record of one shard, read again and again. */
export interface Probe {
  collection: string;
  id: string;
}

/**
 * Fetches some records all the time, each in its own loop, strongly, and tells for how long one
 * could not be had.
 */
export class AbsenceWatch {
  readonly #target: Target;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #gaps: Map<Probe, { sinceMs: number; longestMs: number }>;
  readonly #running: Promise<unknown>;
  #failures = 0;
  #isOver = false;

  constructor(target: Target, probes: readonly Probe[]) {
    this.#target = target;
    this.#gaps = new Map(probes.map((probe) => [probe, { sinceMs: performance.now(), longestMs: 0 }]));
    this.#running = Promise.all(probes.map((probe) => this.#read(probe)));
  }

  /** Resolves when each has been had twice since now, so that a time without answers is over. */
  async allAnswer(): Promise<void> {
    const asked = performance.now();
    while ([...this.#gaps.values()].some(({ sinceMs }) => sinceMs < asked + PAUSE_MS)) await delay(PAUSE_MS);
  }

  /** Ends it; `probes`: those to be told of, default all. */
  async end(): Promise<(chosen?: (probe: Probe) => boolean) => Absence> {
    this.#isOver = true;
    await this.#running;
    this.#agent.destroy();
    return (chosen = () => true) => {
      const gaps = [...this.#gaps].filter(([probe]) => chosen(probe)).map(([, { longestMs }]) => longestMs);
      return { longestMs: Math.max(0, ...gaps), failures: this.#failures };
    };
  }

  async #read(probe: Probe): Promise<void> {
    const gap = this.#gaps.get(probe)!;
    const body = JSON.stringify({ ids: [probe.id] });
    while (!this.#isOver) {
      const answer = await post(this.#target, this.#agent, `/collections/${probe.collection}/fetch`, body).catch(
        () => null,
      );
      const nowMs = performance.now();
      if (answer?.status === 200) {
        gap.longestMs = Math.max(gap.longestMs, nowMs - gap.sinceMs);
        gap.sinceMs = nowMs;
      } else this.#failures++;
      await delay(PAUSE_MS);
    }
  }
}
