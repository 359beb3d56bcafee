/**
 * `npm run bench:scale`: simulates placement, leases, rebalancing and discovery of clusters of 10,
 * 100 and 1,000 nodes on virtual time, and prints a table. `--nodes 10,100` and `--shards-per-node
 * 100` choose other sizes, `--seed` another sequence of events.
 */
import { parseArgs } from 'node:util';
import { type Figures, Scenario } from '../test/simulation/capacity/scenario.ts';

const { values: options } = parseArgs({
  options: { nodes: { type: 'string' }, 'shards-per-node': { type: 'string' }, seed: { type: 'string' } },
});
const seed = Number(options.seed ?? 1);
const perNode = Number(options['shards-per-node'] ?? 100);

const COLUMNS: [string, (figures: Figures) => string][] = [
  ['event', ({ event }) => event],
  ['stable s', ({ stableAfterMs }) => (stableAfterMs / 1_000).toFixed(0)],
  ['moves', ({ moves }) => String(moves)],
  ['moved %', ({ movedBytes }) => percent(movedBytes)],
  ['ideal %', ({ idealBytes }) => percent(idealBytes)],
  ['bytes max/mean', ({ before, after }) => `${before.bytes.toFixed(2)} > ${after.bytes.toFixed(2)}`],
  ['load', ({ before, after }) => `${before.load.toFixed(2)} > ${after.load.toFixed(2)}`],
  ['shards', ({ after }) => after.shards.toFixed(2)],
  ['back', ({ returned }) => String(returned)],
  ['dead after s', ({ foundDeadMs }) => seconds(foundDeadMs)],
  ['unavailable s p50/max', ({ awayMedianMs, awayMaxMs }) => `${seconds(awayMedianMs)}/${seconds(awayMaxMs)}`],
  ['store ops/s (peak)', ({ operations }) => `${round(operations.perSecond)} (${round(operations.peak)})`],
  ['rows/s', ({ rows }) => round(rows.perSecond)],
  ['messages/s (peak)', ({ messages }) => `${messages.perSecond.toFixed(1)} (${round(messages.peak)})`],
  ['heartbeats/s', ({ heartbeats }) => round(heartbeats.perSecond)],
  ['INFOs', ({ infos }) => String(infos)],
];

for (const nodes of (options.nodes ?? '10,100,1000').split(',').map(Number)) {
  const startedMs = performance.now();
  const scenario = new Scenario(seed, nodes, nodes * perNode);
  const rows = [
    scenario.settle(),
    scenario.steady(),
    scenario.join(),
    scenario.leave(),
    scenario.kill(0),
    scenario.kill(0.1),
  ];
  const cells = rows.map((figures) => COLUMNS.map(([, text]) => text(figures)));
  const widths = COLUMNS.map(([title], at) => Math.max(title.length, ...cells.map((row) => row[at]!.length)));
  const line = (row: string[]) => row.map((cell, at) => cell.padEnd(widths[at]!)).join('  ');
  console.log(`\n${nodes} nodes, ${nodes * perNode} shards, seed ${seed}`);
  console.log(line(COLUMNS.map(([title]) => title)));
  for (const row of cells) console.log(line(row));
  const ranSeconds = (performance.now() - startedMs) / 1_000;
  console.log(
    `${(scenario.cluster.time.nowMs / 3_600_000).toFixed(1)} hours of virtual time, ${scenario.cluster.time.ran} events, ${ranSeconds.toFixed(1)} s`,
  );
}

function percent(part: number): string {
  return (part * 100).toFixed(part < 0.01 ? 3 : 1);
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(1);
}

function round(value: number): string {
  return Math.round(value).toLocaleString('en-GB');
}
