/** Time spent in each stage of a query, from the sums and counts of the service's histograms. */
export type Stages = Map<string, { sum: number; count: number }>;

const SERIES = {
  http: /^provec_http_request_duration_seconds_(sum|count)\{[^}]*route="\/api\/v1\/collections\/\{name\}\/query"[^}]*\} (\S+)/gm,
  parse: /^provec_http_body_parse_seconds_(sum|count)(?:\{[^}]*\})? (\S+)/gm,
  collections: /^provec_action_duration_seconds_(sum|count)\{[^}]*action="collections\.query"[^}]*\} (\S+)/gm,
  shards: /^provec_action_duration_seconds_(sum|count)\{[^}]*action="shards\.query"[^}]*\} (\S+)/gm,
  search: /^provec_shard_search_?(seconds|es) (\S+)/gm,
} as const;

export async function readStages(url: string): Promise<Stages> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const stages: Stages = new Map();
  for (const [name, series] of Object.entries(SERIES)) {
    const figures = { sum: 0, count: 0 };
    for (const [, kind, value] of text.matchAll(series))
      figures[kind === 'count' || kind === 'es' ? 'count' : 'sum'] += Number(value);
    stages.set(name, figures);
  }
  return stages;
}

/**
 * Mean milliseconds of each stage between two readings. Queueing counts toward the stage that
 * waits.
 */
export function stageShares(before: Stages, after: Stages): { name: string; meanMs: number }[] {
  const mean = (name: string) => {
    const [a, b] = [before.get(name)!, after.get(name)!];
    return b.count === a.count ? 0 : ((b.sum - a.sum) / (b.count - a.count)) * 1000;
  };
  return [
    { name: 'in the service', meanMs: mean('http') },
    { name: '  parsing the body', meanMs: mean('parse') },
    { name: '  gateway: reading, checks, serialising', meanMs: mean('http') - mean('parse') - mean('collections') },
    { name: '  collections and broker', meanMs: mean('collections') - mean('shards') },
    { name: '  to the worker, waiting, back', meanMs: mean('shards') - mean('search') },
    { name: '  search', meanMs: mean('search') },
  ];
}
