/**
 * Search of one shard on the Debian data set: build time, memory, checkpoints, and latency and
 * recall@10 of queries with and without filters. Usage: node bench/search.ts [bf16|f32|f16|i8]
 * [records]; counts beyond 61,666 add noisy copies of the records.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Quantization } from '../lib/records/metric.ts';
import { Shard } from '../services/shards/engine/shard.ts';
import { multipliedWrites, readDebian } from '../test/support/debian.ts';
import { loadFrom, queryIn, queryWith, recallOf, saveTo, specWith, stageIn } from '../test/support/shard-engine.ts';
import { checkpointIn } from '../test/support/written-checkpoint.ts';

const data = readDebian();
if (data === null) throw new Error('No data set: set PROVEC_TEST_DATA to its folder.');
const quantization = (process.argv[2] ?? 'bf16') as Quantization;
const records = Number(process.argv[3] ?? data.records);
/** Number of queries without a filter, and with one. Each is also answered by a scan. */
const QUERIES = 1_000;
const FILTERED_QUERIES = 200;
const spec = specWith({ dimensions: data.dimensions, quantization });

function timed<T>(run: () => T): [T, number] {
  const startedMs = performance.now();
  const result = run();
  return [result, performance.now() - startedMs];
}

function print(what: string, value: string): void {
  console.log(`${what.padEnd(34)}${value}`);
}

function latency(takenMs: number[]): string {
  const sorted = takenMs.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(3);
  return `p50 ${at(0.5)}  p95 ${at(0.95)}  p99 ${at(0.99)}  max ${at(1)} ms`;
}

const rssBefore = process.memoryUsage().rss;
const shard = new Shard(spec, { graphThreads: 2 });
const writeMs: number[] = [];
for (const write of multipliedWrites(data, records)) {
  writeMs.push(
    timed(() => {
      stageIn(shard, [write]);
      shard.commit();
    })[1],
  );
}
print('data', `${records} x ${data.dimensions}, ${quantization}, ${cpus()[0]?.model}`);
print('stage + commit of 1,000 records', latency(writeMs));
print(
  'exact scan before the index',
  latency(data.queries.slice(0, 20).map((v) => timed(() => queryIn(shard, queryWith(v)))[1])),
);
const sliceMs: number[] = [];
for (let more = true; more; ) {
  const [again, ms] = timed(() => shard.maintain(4));
  sliceMs.push(ms);
  more = again;
}
print('index built in', `${(sliceMs.reduce((sum, ms) => sum + ms) / 1_000).toFixed(1)} s`);
print('slices of 4 ms', latency(sliceMs));
print('memory by the engine’s count', `${Math.round(shard.bytes / shard.records)} B a record`);
print(
  'memory of the process, about',
  `${Math.round((process.memoryUsage().rss - rssBefore) / shard.records)} B a record`,
);

const folder = mkdtempSync(join(tmpdir(), 'provec-bench-'));
try {
  print('checkpoint saved in', `${timed(() => saveTo(folder, shard))[1].toFixed(0)} ms`);
  const written = checkpointIn(folder);
  print('checkpoint loaded in', `${timed(() => loadFrom(written, spec))[1].toFixed(0)} ms`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

for (const { name, filter } of [{ name: 'no filter', filter: null }, ...data.filters]) {
  const asked = data.queries
    .slice(0, filter === null ? QUERIES : FILTERED_QUERIES)
    .map((vector) => queryWith(vector, { filter, includeMetadata: true }));
  const [, firstMs] = timed(() => queryIn(shard, asked[0]!));
  let recall = 0;
  let short = 0;
  const takenMs = asked.map((query) => {
    const [found, ms] = timed(() => queryIn(shard, query));
    const best = queryIn(shard, { ...query, exact: true });
    recall += recallOf(found, best) / asked.length;
    if (found.length !== best.length) short++;
    return ms;
  });
  print(name, `recall ${recall.toFixed(4)}  short ${short}  ${latency(takenMs)}  first ${firstMs.toFixed(1)}`);
}
