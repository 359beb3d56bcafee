import type { RecordedRequest } from './recorder.ts';

/** How long the service was unavailable, and how often it failed. */
export interface ObservedOutage {
  /** Longest time without a response from one shard. */
  shardAwayMs: number;
  /** Longest time in which one client got no response. */
  clientAwayMs: number;
  /** Longest time from sending a failed request of a client to its next successful one. */
  failingMs: number;
  requests: number;
  failures: RecordedRequest[];
}

/** `endMs`: time when the clients stopped, on the clock of the requests. */
export function outageOf(requests: readonly RecordedRequest[], shards: number, endMs: number): ObservedOutage {
  const clients = [...new Set(requests.map(({ client }) => client))];
  const ofShard = (index: number) => requests.filter((request) => request.shards.includes(index));
  const ofClient = (client: number) => requests.filter((request) => request.client === client);
  const perShard = Array.from({ length: shards }, (_, index) => longestGapMs(ofShard(index), endMs));
  return {
    shardAwayMs: Math.max(0, ...perShard),
    clientAwayMs: Math.max(0, ...clients.map((client) => longestGapMs(ofClient(client), endMs))),
    failingMs: Math.max(0, ...clients.map((client) => longestFailingMs(ofClient(client), endMs))),
    requests: requests.length,
    failures: requests.filter(({ outcome }) => outcome !== 'ok'),
  };
}

function longestGapMs(requests: readonly RecordedRequest[], endMs: number): number {
  if (requests.length === 0) return 0;
  let last = Math.min(...requests.map(({ sentMs }) => sentMs));
  let longest = 0;
  const answers = requests.filter(({ outcome }) => outcome === 'ok').map(({ answeredMs }) => answeredMs);
  for (const answeredMs of [...answers.sort((a, b) => a - b), endMs]) {
    longest = Math.max(longest, answeredMs - last);
    last = answeredMs;
  }
  return longest;
}

function longestFailingMs(requests: readonly RecordedRequest[], endMs: number): number {
  let longest = 0;
  let since: number | null = null;
  for (const { outcome, sentMs, answeredMs } of requests) {
    if (outcome !== 'ok') since ??= sentMs;
    else if (since !== null) {
      longest = Math.max(longest, answeredMs - since);
      since = null;
    }
  }
  return since === null ? longest : Math.max(longest, endMs - since);
}

export function describeOutage({ shardAwayMs, clientAwayMs, failingMs, requests, failures }: ObservedOutage): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  const kinds = new Map<string, number>();
  for (const { kind, failure } of failures)
    kinds.set(`${kind}: ${failure}`, (kinds.get(`${kind}: ${failure}`) ?? 0) + 1);
  const lines = [
    `some shard away for ${seconds(shardAwayMs)}, some client without an answer for ${seconds(clientAwayMs)}, ` +
      `from first failure to next success ${seconds(failingMs)}; ${failures.length} of ${requests} requests failed`,
    ...[...kinds].map(([what, count]) => `  ${count} x ${what}`),
  ];
  return lines.join('\n');
}
