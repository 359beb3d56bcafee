import { Agent } from 'node:http';
import { post, type Target } from './http-request.ts';
import { stolenShare } from './process-figures.ts';

/**
 * Figures of a closed loop: each connection sends the next request when the previous one is
 * answered. Latencies in milliseconds.
 */
export interface LoadFigures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  requests: number;
  /** Share of the machine's CPU time that the host gave to other guests during the run. */
  stolen: number;
}

/**
 * Sends `bodies` in turn over `connections` for about `seconds`. Throws on any status other than
 * 200.
 */
export async function closedLoop(
  target: Target,
  path: string,
  bodies: Buffer[],
  connections: number,
  seconds: number,
): Promise<LoadFigures> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const latencies: number[] = [];
  const stolen = stolenShare();
  const startedMs = performance.now();
  let next = 0;
  const lane = async () => {
    while (performance.now() - startedMs < seconds * 1000) {
      const sentMs = performance.now();
      const { status, text } = await post(target, agent, path, bodies[next++ % bodies.length]!);
      if (status !== 200) throw new Error(`${path}: ${status} ${text.slice(0, 300)}`);
      latencies.push(performance.now() - sentMs);
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  agent.destroy();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!;
  return {
    perSecond: latencies.length / elapsedSeconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    requests: latencies.length,
    stolen: stolen(),
  };
}
