/**
 * `npm run bench`: starts a service, loads the data set over HTTP and prints time and memory use.
 * `--records N` takes the first N records. `--anchoring` leaves the ledger on, so that every write
 * waits for its anchor. `npm run bench -- verify`, `-- neighbour`, `-- pinecone` and `-- records`
 * run verify.ts, neighbour.ts, pinecone.ts and records/bench-records.ts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startServiceProcess } from '../examples/service-process.ts';
import { matches as matchesFilter } from '../lib/filter/evaluate.ts';
import { parseFilter } from '../lib/filter/parse.ts';
import { LIMITS } from '../lib/limits.ts';
import { type CalmFigures, medianOfCalmest, untilIdle } from './calm.ts';
import { type Dataset, queryBodies, readDataset, recordsOf } from './dataset.ts';
import { post, type Target } from './http-request.ts';
import { closedLoop, type LoadFigures } from './load.ts';
import { anonymousMiB, cpuSeconds, machineText, residentMiB, stolenShare } from './process-figures.ts';
import { recallOf } from './recall.ts';
import { readStages, stageShares } from './stages.ts';
import { BENCH_KEY } from './temporary-service.ts';
import { untilIndexed } from './until-indexed.ts';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    records: { type: 'string' },
    anchoring: { type: 'boolean' },
    seconds: { type: 'string' },
    chroma: { type: 'string' },
    postgres: { type: 'string' },
    help: { type: 'boolean' },
  },
});
if (options.help) {
  console.log(`npm run bench -- [what] [--records N] [--seconds N] [--anchoring]
  what        verify, neighbour, pinecone or records; by default: load and search the data set
  --records   load the first N records of the data set
  --seconds   duration of each load
  --anchoring leave the ledger on, so that each write waits for its anchor
  records also takes --chroma URL and --postgres URL, and compares them with Provec`);
  process.exit();
}
const SECONDS = Number(options.seconds ?? 5);
const BATCH = 1_000;
const TOP_K = 10;
const COLLECTION = 'bench';

const say = (name: string, value: string) => console.log(`${name.padEnd(34)} ${value}`);
/** The share of CPU time that the host took; the figures are worse by about as much. */
const lessStolen = (share: number) => (share < 0.01 ? '' : `  (${(share * 100).toFixed(0)} % of the CPU stolen)`);
const load = ({ perSecond, p50Ms, p99Ms, stolen }: LoadFigures) =>
  `${perSecond.toFixed(0)}/s  p50 ${p50Ms.toFixed(2)} ms  p99 ${p99Ms.toFixed(2)} ms${lessStolen(stolen)}`;
const calmLoad = (figures: CalmFigures) => `${load(figures)}  (of the 3 calmest of ${figures.rounds} rounds)`;

async function ingest(target: Target, data: Dataset): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  await post(target, agent, '/collections', JSON.stringify({ name: COLLECTION, dimensions: data.dims }));
  const bodies: Buffer[] = [];
  for (let from = 0; from < data.ids.length; from += BATCH) {
    bodies.push(Buffer.from(JSON.stringify({ records: recordsOf(data, from, from + BATCH) })));
  }
  const startedMs = performance.now();
  const lane = async () => {
    for (let body = bodies.shift(); body; body = bodies.shift()) {
      const { status, text } = await post(target, agent, `/collections/${COLLECTION}/upsert`, body);
      if (status !== 200) throw new Error(`upsert: ${status} ${text.slice(0, 300)}`);
    }
  };
  await Promise.all([lane(), lane()]);
  agent.destroy();
  return data.ids.length / ((performance.now() - startedMs) / 1000);
}

async function recall(
  target: Target,
  data: Dataset,
  filter: Record<string, unknown> | undefined,
  queries: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const answers: string[][] = [];
  for (const body of queryBodies(data, { filter }).slice(0, queries)) {
    const { text } = await post(target, agent, `/collections/${COLLECTION}/query`, body);
    answers.push((JSON.parse(text) as { matches: { id: string }[] }).matches.map(({ id }) => id));
  }
  agent.destroy();
  const node = filter ? parseFilter(filter, LIMITS) : null;
  const matching = data.metadata.map((metadata) => node === null || matchesFilter(node, metadata));
  const most = Math.min(TOP_K, matching.filter(Boolean).length);
  for (const [at, { length }] of answers.entries())
    if (length < most) say('  short answer', `query ${at}: ${length} of ${most}`);
  return recallOf(data, answers, TOP_K, (row) => matching[row]!);
}

async function main(): Promise<void> {
  const data = readDataset(Number(options.records ?? Number.POSITIVE_INFINITY));
  const dataDir = mkdtempSync(join(tmpdir(), 'provec-bench-'));
  const environment: Record<string, string> = options.anchoring ? {} : { PROVEC_LEDGER: 'off' };
  let service = await startServiceProcess(dataDir, BENCH_KEY, environment);
  try {
    say('machine', machineText());
    say(
      'data',
      `${data.ids.length} x ${data.dims}, ${data.queries.length} queries, anchoring ${options.anchoring ? 'on' : 'off'}`,
    );
    const idleMiB = anonymousMiB(service.process.pid!);
    let target: Target = { url: service.url, key: BENCH_KEY };
    say('ingest, batches of 1,000', `${(await ingest(target, data)).toFixed(0)} records/s`);
    say('index complete after', `${(await untilIndexed(target)).toFixed(1)} s more`);
    const pid = service.process.pid!;
    const restSeconds = await untilIdle(pid);
    say('at rest after', restSeconds === null ? 'more than a minute' : `${restSeconds.toFixed(1)} s more`);
    const perRecordKb = ((anonymousMiB(pid) - idleMiB) * 2 ** 20) / data.ids.length / 1000;
    say('memory', `${residentMiB(pid).toFixed(0)} MiB resident, ${perRecordKb.toFixed(2)} kB a record`);

    const bodies = queryBodies(data);
    const path = `/collections/${COLLECTION}/query`;
    await closedLoop(target, path, bodies, 1, 1);
    say('query, 1 connection', calmLoad(await medianOfCalmest(() => closedLoop(target, path, bodies, 1, SECONDS))));
    say('query, 8 connections', calmLoad(await medianOfCalmest(() => closedLoop(target, path, bodies, 8, SECONDS))));
    const stagesBefore = await readStages(target.url);
    const cpuBefore = cpuSeconds(pid);
    const eight = await closedLoop(target, path, bodies, 8, SECONDS);
    const cpuMs = ((cpuSeconds(pid) - cpuBefore) * 1000) / eight.requests;
    say('CPU a query, 8 connections', `${cpuMs.toFixed(3)} ms${lessStolen(eight.stolen)}`);
    for (const line of stageShares(stagesBefore, await readStages(target.url)))
      say(`  ${line.name}`, `${line.meanMs.toFixed(3)} ms`);
    say('recall@10', (await recall(target, data, undefined, data.queries.length)).toFixed(4));
    for (const { name, filter } of data.filters) {
      const figures = await closedLoop(target, path, queryBodies(data, { filter }), 8, Math.min(2, SECONDS));
      say(`filter ${name}`, `recall ${(await recall(target, data, filter, 100)).toFixed(4)}  ${load(figures)}`);
    }

    service.process.kill('SIGKILL');
    const stolen = stolenShare();
    const startedMs = performance.now();
    service = await startServiceProcess(dataDir, BENCH_KEY, environment);
    target = { url: service.url, key: BENCH_KEY };
    const agent = new Agent({ keepAlive: true });
    const { status } = await post(target, agent, path, bodies[0]!);
    agent.destroy();
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(2);
    const share = stolen();
    const found = (await recall(target, data, undefined, 100)).toFixed(4);
    say('restart after SIGKILL', `${seconds} s to the first answer (${status}), recall ${found}${lessStolen(share)}`);
  } finally {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

switch (positionals[0]) {
  case 'verify':
    await (await import('./verify.ts')).benchVerify(Number(options.records), SECONDS);
    break;
  case 'neighbour':
    await (await import('./neighbour.ts')).benchNeighbour(SECONDS, options.anchoring ?? false);
    break;
  case 'pinecone':
    await (await import('./pinecone.ts')).benchPinecone(Number(options.records ?? Number.POSITIVE_INFINITY), SECONDS);
    break;
  case 'records': {
    const count = Number(options.records ?? Number.POSITIVE_INFINITY);
    await (await import('./records/bench-records.ts')).benchRecords(count, options.chroma, options.postgres);
    break;
  }
  default:
    await main();
}
