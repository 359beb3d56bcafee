import { setTimeout as delay } from 'node:timers/promises';
import type { Target } from './http-request.ts';

/** Waits until every record is in an index; returns the seconds that took. */
export async function untilIndexed(target: Target): Promise<number> {
  const startedMs = performance.now();
  for (;;) {
    const text = await (await fetch(`${target.url}/metrics`)).text();
    const unindexed = /^provec_shards_unindexed_records (\d+)/m.exec(text)?.[1];
    if (unindexed === '0') return (performance.now() - startedMs) / 1000;
    await delay(200);
  }
}
