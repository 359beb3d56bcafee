/**
 * `npm run bench -- verify`: measures how long a verify of the whole data set takes, on an idle
 * service and during queries, and how much it slows those queries down. The ledger is on. Rounds
 * with and without a verify alternate, so that the machine's speed affects both alike.
 */
import { ApiClient } from '../examples/api-client.ts';
import { untilIdle } from './calm.ts';
import { queryBodies, readDataset } from './dataset.ts';
import { createCollection, upsertAll } from './ingest.ts';
import { closedLoop, type LoadFigures } from './load.ts';
import { median } from './median.ts';
import { machineText } from './process-figures.ts';
import { withService } from './temporary-service.ts';
import { untilIndexed } from './until-indexed.ts';

const NAME = 'bench';
const ROUNDS = 5;
const ALONE = 5;
const CONNECTIONS = [1, 8];

const say = (name: string, value: string) => console.log(`${name.padEnd(40)} ${value}`);
const seconds = (values: number[]) =>
  `${median(values).toFixed(2)} s (${values.map((value) => value.toFixed(2)).join(', ')})`;
const latencies = (rounds: LoadFigures[]) => {
  const of = (pick: (figures: LoadFigures) => number) => median(rounds.map(pick));
  return `${of(({ perSecond }) => perSecond).toFixed(0)}/s  p50 ${of(({ p50Ms }) => p50Ms).toFixed(2)} ms  p99 ${of(({ p99Ms }) => p99Ms).toFixed(2)} ms`;
};

/** `records`: number of records to take from the start; all when it is NaN. */
export async function benchVerify(records: number, roundSeconds: number): Promise<void> {
  const data = readDataset(Number.isNaN(records) ? Number.POSITIVE_INFINITY : records);
  await withService({}, async (target, pid) => {
    const api = new ApiClient(target.url, target.key);
    say('machine', machineText());
    say('data', `${data.ids.length} x ${data.dims}, anchoring on`);
    await createCollection(target, { name: NAME, dimensions: data.dims });
    await upsertAll(target, data, NAME, data.ids.length);
    await untilIndexed(target);
    await untilIdle(pid);

    const verify = async (): Promise<number> => {
      const startedMs = performance.now();
      const { state } = await api.call<{ state: string }>('GET', `/collections/${NAME}/verify`);
      if (state !== 'match') throw new Error(`verify says ${state}`);
      return (performance.now() - startedMs) / 1000;
    };
    const alone: number[] = [];
    for (let count = 0; count < ALONE; count++) alone.push(await verify());
    say('verify, idle', seconds(alone));

    const bodies = queryBodies(data);
    const load = (connections: number) =>
      closedLoop(target, `/collections/${NAME}/query`, bodies, connections, roundSeconds);
    for (const connections of CONNECTIONS) {
      const [without, beside]: [LoadFigures[], LoadFigures[]] = [[], []];
      const took: number[] = [];
      await load(connections);
      for (let round = 0; round < ROUNDS; round++) {
        without.push(await load(connections));
        let isOver = false;
        const verifies = async () => {
          while (!isOver) took.push(await verify());
        };
        const running = verifies();
        beside.push(await load(connections));
        isOver = true;
        await running;
      }
      say(`queries, ${connections} connection${connections === 1 ? '' : 's'}`, latencies(without));
      say('  during verify after verify', latencies(beside));
      say('  a verify during them', seconds(took));
    }
  });
}
