import type { ProbeResult } from './probes.ts';

/** Unavailability of shards, in milliseconds. */
export interface Unavailability {
  /** Longest time without a successful probe, for each shard of the struck nodes. */
  struckMs: number[];
  /** The same for the other shards. */
  sparedMs: number[];
  /** Time from the end of the fault to the first success of the last unavailable shard. */
  backMs: number;
  longestRequestMs: number;
  requests: number;
  /** Number of failures by message. */
  failures: Map<string, number>;
}

/**
 * `beganMs` and `endedMs`: start and end of the fault, on the clock of the probes. `struck`: shards
 * of the struck nodes.
 */
export function measured(
  results: readonly ProbeResult[],
  { beganMs, endedMs, untilMs }: { beganMs: number; endedMs: number; untilMs: number },
  struck: ReadonlySet<string>,
): Unavailability {
  const targets = new Map<string, ProbeResult[]>();
  for (const result of results) {
    const { collection, shard, kind } = result.probe;
    if (shard === null) continue;
    const target = `${collection}.${shard} ${kind}`;
    targets.set(target, [...(targets.get(target) ?? []), result]);
  }
  const gaps = [...targets].map(([target, own]) => {
    const answers = own.filter(({ failure }) => failure === null).map(({ answeredMs }) => answeredMs);
    const sorted = answers.filter((at) => at > beganMs && at < untilMs).sort((a, b) => a - b);
    let last = beganMs;
    let longest = 0;
    for (const at of [...sorted, untilMs]) {
      longest = Math.max(longest, at - last);
      last = at;
    }
    const firstAfter = sorted.find((at) => at >= endedMs) ?? untilMs;
    const isStruck = struck.has(target.slice(0, target.indexOf(' ')));
    return { isStruck, longest, backMs: firstAfter - endedMs };
  });
  const failures = new Map<string, number>();
  for (const { probe, failure } of results)
    if (failure !== null)
      failures.set(`${probe.kind}: ${failure}`, (failures.get(`${probe.kind}: ${failure}`) ?? 0) + 1);
  return {
    struckMs: gaps.filter(({ isStruck }) => isStruck).map(({ longest }) => longest),
    sparedMs: gaps.filter(({ isStruck }) => !isStruck).map(({ longest }) => longest),
    backMs: Math.max(0, ...gaps.map(({ backMs }) => backMs)),
    longestRequestMs: Math.max(0, ...results.map(({ sentMs, answeredMs }) => answeredMs - sentMs)),
    requests: results.length,
    failures,
  };
}

/** Median of some figures, 0 when there are none. */
function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}

/** A row of the table in docs/operations.md. */
export function row(
  fault: string,
  { struckMs, sparedMs, backMs, longestRequestMs, requests, failures }: Unavailability,
) {
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  const failed = [...failures.values()].reduce((sum, count) => sum + count, 0);
  const cells = [
    fault,
    `${seconds(median(struckMs))} / ${seconds(Math.max(0, ...struckMs))}`,
    `${seconds(median(sparedMs))} / ${seconds(Math.max(0, ...sparedMs))}`,
    seconds(backMs),
    seconds(longestRequestMs),
    `${failed} of ${requests}`,
  ];
  return `| ${cells.join(' | ')} |`;
}
