import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ServiceBroker } from 'moleculer';
import { call } from '../../../contracts/actions/call.ts';
import { startBacking } from '../../support/backing-services.ts';
import { startCaller } from '../../support/caller.ts';
import type { ClusterNode } from '../../support/cluster-node.ts';
import { ClusterProcess } from '../../support/cluster-process.ts';
import { until } from '../../support/until.ts';

const IDS = Array.from({ length: 50 }, (_, at) => `r${at}`);
/** Enough that some reads start at each of three nodes, whatever the random choice. */
const READS = 36;
/**
 * Two halted nodes cost a read 2 s each. After 6 s they count as gone, and calls no longer wait for
 * them.
 */
const ANSWER_MAX_MS = 6_000;

let cluster: ClusterProcess;
let broker: ServiceBroker;
let holder: ClusterNode;
let copies: ClusterNode[];

beforeAll(async () => {
  const backing = await startBacking('SQLite + TCP');
  // Reads that wait for a node keep their permits at the gateway, so there are enough for all.
  const environment = { PROVEC_LEDGER: 'off', PROVEC_QUERY_CONCURRENCY: '256' };
  cluster = await ClusterProcess.start(backing, { shardNodes: 3, environment });
  broker = await startCaller(backing.dataDir, 'cluster');
  await cluster.api('POST', '/collections', { name: 'docs', dimensions: 2, replicas: 2 });
  const records = IDS.map((id, at) => ({ id, values: [at, 1] }));
  expect((await cluster.api('POST', '/collections/docs/upsert', { records })).status).toBe(200);
  const placed = await until('both copies are as far as the shard', async () => {
    const [row] = (await call(broker, 'cluster.shards', {})).rows;
    return row!.followers.length === 2 && row!.followers.every(({ lag }) => lag === 0) && row;
  });
  holder = cluster.node(placed.node!);
  copies = placed.followers.map(({ node }) => cluster.node(node));
});
afterAll(async () => {
  await broker?.stop();
  await cluster?.dispose();
});

/** Reads with eventual consistency while the nodes are halted. */
async function readWhileHalted(nodes: ClusterNode[]): Promise<{ status: number; records: number; ms: number }[]> {
  for (const node of nodes) node.halt();
  try {
    const startedMs = performance.now();
    const read = async (lane: number) => {
      const [path, body] = lane % 2 === 0 ? ['query', { vector: [1, 1], topK: IDS.length }] : ['fetch', { ids: IDS }];
      const answer = await cluster.api<{ matches?: unknown[]; vectors?: object }>('POST', `/collections/docs/${path}`, {
        ...(body as object),
        consistency: 'eventual',
      });
      const records = answer.body.matches?.length ?? Object.keys(answer.body.vectors ?? {}).length;
      return { status: answer.status, records, ms: performance.now() - startedMs };
    };
    return await Promise.all(Array.from({ length: READS }, (_, lane) => read(lane)));
  } finally {
    for (const node of nodes) node.resume();
  }
}

test.each([
  ['one of two copies', () => copies.slice(0, 1)],
  ['the holder and one of two copies', () => [holder, copies[1]!]],
])('%s freezes: the others answer, and no read waits until it counts as gone', async (_, halted) => {
  const answers = await readWhileHalted(halted());
  for (const { status, records, ms } of answers) {
    expect({ status, records }).toEqual({ status: 200, records: IDS.length });
    expect(ms).toBeLessThan(ANSWER_MAX_MS);
  }
  // Some reads had to move on from a node that did not answer.
  expect(Math.max(...answers.map(({ ms }) => ms))).toBeGreaterThan(1_500);
});
