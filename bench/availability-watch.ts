import { Agent } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { post, type Target } from './http-request.ts';

const PAUSE_MS = 20;

export interface AvailabilityGap {
  /** Longest time, in ms, without a successful read, over the chosen probes. */
  longestMs: number;
  /** Responses other than 200, and failed requests. */
  failures: number;
}

/** A record that is read repeatedly; it stands for its shard. */
export interface Probe {
  collection: string;
  id: string;
}

/**
 * Fetches records continuously with strong reads, each in its own loop, and measures the longest
 * time that a record was unavailable.
 */
export class AvailabilityWatch {
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

  /** Resolves when every record was read twice from now on, which ends any gap in progress. */
  async allAnswer(): Promise<void> {
    const asked = performance.now();
    while ([...this.#gaps.values()].some(({ sinceMs }) => sinceMs < asked + PAUSE_MS)) await delay(PAUSE_MS);
  }

  /** Stops reading. The returned function measures the chosen probes, by default all. */
  async end(): Promise<(chosen?: (probe: Probe) => boolean) => AvailabilityGap> {
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
      // Counted as a failed probe below.
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
