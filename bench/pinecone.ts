/**
 * `npm run bench -- pinecone`: the cost of `/pinecone` compared with `/api/v1`, in one service with
 * one collection: the same queries over the same connections, in alternating rounds.
 */
import { untilIdle } from './calm.ts';
import { queryBodies, readDataset } from './dataset.ts';
import { createCollection, upsertAll } from './ingest.ts';
import { closedLoop, type LoadFigures } from './load.ts';
import { median } from './median.ts';
import { cpuSeconds, machineText } from './process-figures.ts';
import { withService } from './temporary-service.ts';
import { untilIndexed } from './until-indexed.ts';

/** The collection that `untilIndexed` checks. */
const NAME = 'bench';
const ROUNDS = 8;
const CONNECTIONS = [1, 8];
const PATHS = { '/api/v1': `/collections/${NAME}/query`, '/pinecone': `/indexes/${NAME}/query` };
type Dialect = keyof typeof PATHS;

interface Round extends LoadFigures {
  cpuMs: number;
}

const say = (name: string, value: string) => console.log(`${name.padEnd(34)} ${value}`);

export async function benchPinecone(records: number, seconds: number): Promise<void> {
  const data = readDataset(records);
  await withService({ PROVEC_LEDGER: 'off' }, async (target, pid) => {
    say('machine', machineText());
    await createCollection(target, { name: NAME, dimensions: data.dims });
    await upsertAll(target, data, NAME, data.ids.length);
    await untilIndexed(target);
    await untilIdle(pid);
    const bodies = queryBodies(data, { includeMetadata: true });
    const round = async (dialect: Dialect, connections: number): Promise<Round> => {
      const before = cpuSeconds(pid);
      const figures = await closedLoop({ ...target, dialect }, PATHS[dialect], bodies, connections, seconds);
      return { ...figures, cpuMs: ((cpuSeconds(pid) - before) * 1_000) / figures.requests };
    };
    for (const connections of CONNECTIONS) await compare((dialect) => round(dialect, connections), connections);
  });
}

/** Prints medians of both, and the median of each pair's ratio. */
async function compare(round: (dialect: Dialect) => Promise<Round>, connections: number): Promise<void> {
  const pairs: [ours: Round, theirs: Round][] = [];
  for (let at = 0; at < ROUNDS; at++) {
    const first = at % 2 === 0 ? '/api/v1' : '/pinecone';
    const second = at % 2 === 0 ? '/pinecone' : '/api/v1';
    const [one, other] = [await round(first), await round(second)];
    pairs.push(first === '/api/v1' ? [one, other] : [other, one]);
  }
  for (const [at, dialect] of Object.keys(PATHS).entries()) {
    const of = (pick: (figures: Round) => number) => median(pairs.map((pair) => pick(pair[at]!)));
    const rate = `${of(({ perSecond }) => perSecond).toFixed(0)}/s`;
    const times = `p50 ${of(({ p50Ms }) => p50Ms).toFixed(2)} ms  CPU ${of(({ cpuMs }) => cpuMs).toFixed(3)} ms`;
    say(`${dialect}, ${connections} connections`, `${rate}  ${times}`);
  }
  const ratio = median(pairs.map(([ours, theirs]) => theirs.perSecond / ours.perSecond));
  say('  ratio of the rates', ratio.toFixed(3));
}
