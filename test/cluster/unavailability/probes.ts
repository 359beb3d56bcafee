import { setTimeout as delay } from 'node:timers/promises';
import { parseJson } from '../../../lib/json/text.ts';
import { TEST_KEY } from '../../support/tenant.ts';

/**
 * A strong read, a write or an eventual read of a record of one shard, or a query over all shards.
 */
type ProbeKind = 'read' | 'write' | 'eventual' | 'wide';

export interface Probe {
  collection: string;
  kind: ProbeKind;
  /** Null for a query over all shards. */
  shard: number | null;
  path: string;
  body: unknown;
  everyMs: number;
}

export interface ProbeResult {
  probe: Probe;
  sentMs: number;
  answeredMs: number;
  /** Null for status 200. */
  failure: string | null;
}

const REQUEST_MAX_MS = 90_000;
/**
 * Number of probes of one kind that may be pending: a hanging response must not delay the next
 * probe.
 */
const WAITING_MAX = 40;

/**
 * Sends requests at a steady pace, whatever happens to earlier ones, and keeps the result of each.
 */
export class Probes {
  readonly results: ProbeResult[] = [];
  readonly #gatewayUrl: () => string;
  readonly #end = new AbortController();
  readonly #lanes: Promise<void>[] = [];
  readonly #waiting = new Set<Promise<void>>();

  constructor(gatewayUrl: () => string, probes: readonly Probe[]) {
    this.#gatewayUrl = gatewayUrl;
    for (const probe of probes) this.#lanes.push(this.#run(probe));
  }

  /** Resolves when every request has been answered. */
  async stop(): Promise<ProbeResult[]> {
    this.#end.abort();
    await Promise.all(this.#lanes);
    await Promise.all(this.#waiting);
    return this.results;
  }

  async #run(probe: Probe): Promise<void> {
    const { signal } = this.#end;
    let waiting = 0;
    await delay(Math.random() * probe.everyMs);
    while (!signal.aborted) {
      if (waiting < WAITING_MAX) {
        waiting++;
        const asked = this.#ask(probe).finally(() => {
          waiting--;
          this.#waiting.delete(asked);
        });
        this.#waiting.add(asked);
      }
      await delay(probe.everyMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #ask(probe: Probe): Promise<void> {
    const sentMs = performance.now();
    let failure: string | null = null;
    try {
      const response = await fetch(`${this.#gatewayUrl()}/api/v1/collections/${probe.collection}/${probe.path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${TEST_KEY}`, 'content-type': 'application/json' },
        body: JSON.stringify(probe.body),
        signal: AbortSignal.timeout(REQUEST_MAX_MS),
      });
      const text = await response.text();
      if (response.status !== 200) failure = `${response.status} ${(parseJson(text) as { error: string }).error}`;
    } catch (error) {
      failure = String((error as Error).message);
    }
    this.results.push({ probe, sentMs, answeredMs: performance.now(), failure });
  }
}
