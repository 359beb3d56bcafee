import { afterEach, expect, test } from '@jest/globals';
import { parseFilter } from '../../../lib/filter/parse.ts';
import { LIMITS } from '../../../lib/limits.ts';
import type { ShardReads } from '../../../lib/shard/read.ts';
import { shardIndexOf } from '../../../services/collections/shard-routing.ts';
import { ShardWorker } from '../../../services/shards/worker/pool.ts';
import type { Store } from '../../../store/port.ts';
import { type ShardCluster, shardCluster } from '../../support/shard-cluster.ts';
import { until } from '../../support/until.ts';

/** Enough for a checkpoint. */
const RECORDS = 3_000;
/** Operations that bring a shard into a worker's memory, other than log entries. */
const OPENINGS = ['load', 'create', 'restore', 'endRestore'];
const IDS = Array.from({ length: 3 * RECORDS }, (_, at) => `r${at}`);
const QUERY = {
  vector: new Float32Array(4),
  topK: 1,
  filter: null,
  includeValues: false,
  includeMetadata: false,
  scoreThreshold: null,
  exact: false,
};

let cluster: ShardCluster;
/** Requests to workers and releases of shards, in order. */
let events: string[] = [];
const { request } = ShardWorker.prototype;
afterEach(async () => {
  ShardWorker.prototype.request = request;
  await cluster.end();
});

function noted(store: Store): Store {
  const { owners } = store;
  return {
    ...store,
    owners: {
      get: (shard) => owners.get(shard),
      list: (collectionId) => owners.list(collectionId),
      claim: (row) => owners.claim(row),
      release: (...given) => {
        events.push('released');
        return owners.release(...given);
      },
    },
  };
}

async function started(names: string[], shards = 1): Promise<void> {
  events = [];
  cluster = await shardCluster(names, { shards }, noted);
  const noting: typeof request = function (this: ShardWorker, op, params, transfer) {
    events.push(op);
    return request.call(this, op, params, transfer) as ReturnType<typeof request>;
  } as typeof request;
  ShardWorker.prototype.request = noting;
  for (const { index } of cluster.specs) await write(index, 0, RECORDS);
}

function idsOf(index: number): string[] {
  return IDS.filter((id) => shardIndexOf(id, cluster.row.shards) === index);
}

function write(index: number, value: number, count = 20): Promise<unknown> {
  const spec = cluster.specs[index]!;
  const batch = {
    ids: idsOf(index).slice(0, count),
    dimensions: 4,
    vectors: Float32Array.from({ length: count * 4 }, (_, at) => Math.sin(at) + value),
    metadata: Array.from({ length: count }, () => JSON.stringify({ value })),
  };
  return cluster.call(spec, false, (node, leftMs) => node.upsert({ shard: spec, batch, waitMs: leftMs }));
}

/** Writes and reads shards until `done`, and expects each read to return the last write. */
async function useMeanwhile(done: Promise<unknown>): Promise<number> {
  let isOver = false;
  let rounds = 0;
  const over = done.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  await Promise.all(
    cluster.specs.map(async (spec, index) => {
      const [first] = idsOf(index) as [string];
      for (let value = 1; !isOver; value++) {
        await write(index, value);
        const { items } = await cluster.call(spec, true, (node) => node.fetch({ shard: spec, ids: [first] }));
        expect(items[0]!.metadata).toBe(JSON.stringify({ value }));
        await cluster.call(spec, true, (node) => node.query({ shard: spec, query: QUERY }));
        rounds++;
      }
    }),
  );
  await over;
  return rounds;
}

test('callers of a moving shard wait only for its last entries, and none fails', async () => {
  await started(['a', 'b']);
  const [holder] = await cluster.holders();
  const to = holder === 'a' ? 'b' : 'a';
  events = [];
  expect(await useMeanwhile(cluster.nodes.get(holder!)!.cluster.move(`${cluster.row.id}.0`, to))).toBeGreaterThan(0);
  expect((await cluster.holders())[0]).toBe(to);
  const at = events.indexOf('released');
  expect(events.slice(0, at).filter((op) => OPENINGS.includes(op))).toEqual(['load']);
  expect(events.slice(at).filter((op) => OPENINGS.includes(op))).toEqual([]);
  expect(events.slice(at)).toContain('replay');
  // No further checkpoint is written while they wait.
  expect(events.filter((op) => op === 'save')).toHaveLength(1);
});

test('the shards of a node that is leaving are followed too', async () => {
  await started(['a', 'b'], 2);
  for (const spec of cluster.specs) {
    const key = `${cluster.row.id}.${spec.index}`;
    const [holder] = (await cluster.store.owners.get(key).then((row) => [row?.holder?.node])) as [string];
    if (holder !== 'a') await cluster.nodes.get(holder)!.cluster.move(key, 'a');
  }
  events = [];
  expect(await useMeanwhile(cluster.nodes.get('a')!.cluster.drain())).toBeGreaterThan(0);
  expect(await cluster.holders()).toEqual(['b', 'b']);
  const [first, last] = [events.indexOf('released'), events.lastIndexOf('released')];
  expect(events.filter((op) => op === 'load')).toHaveLength(2);
  expect(events.slice(first).filter((op) => op === 'create')).toEqual([]);
  expect(events.slice(last).filter((op) => OPENINGS.includes(op))).toEqual([]);
});

test("a listing continues at the shard's new node, and lists each record once", async () => {
  await started(['a', 'b']);
  const spec = cluster.specs[0]!;
  const PAGE = {
    prefix: null,
    filter: null,
    limit: 500,
    includeValues: false,
    includeMetadata: false,
    pageMaxBytes: 1e9,
  };
  const listed: string[] = [];
  const holders = new Set<string | null>();
  for (let page = 0; listed.length === page * PAGE.limit; page++) {
    const [holder] = await cluster.holders();
    holders.add(holder!);
    const read = { op: 'list', ...PAGE, after: listed.at(-1) ?? null } as const;
    const { items } = (await cluster.call(spec, true, (node) =>
      node.read({ shard: spec, read }),
    )) as ShardReads['list']['result'];
    listed.push(...items.map(({ id }) => id));
    await Promise.all([
      cluster.nodes.get(holder!)!.cluster.move(`${cluster.row.id}.0`, holder === 'a' ? 'b' : 'a'),
      write(0, page + 1),
    ]);
  }
  expect([...holders].sort()).toEqual(['a', 'b']);
  expect(listed).toEqual(idsOf(0).slice(0, RECORDS).sort());
});

test("queries that take many slices are repeated at the shard's new node, and none fails", async () => {
  await started(['a', 'b']);
  const [spec] = cluster.specs;
  const slow = { ...QUERY, topK: 1_000, exact: true };
  let isOver = false;
  let answers = 0;
  const ask = async (lane: number): Promise<void> => {
    for (let turn = 0; !isOver; turn++) {
      const sent = { $or: [{ [`f${lane}-${turn}`]: { $exists: false } }, { value: -1 }] };
      const query = { ...slow, filter: parseFilter(sent, LIMITS) };
      const { items } = await cluster.call(spec!, true, (node) => node.query({ shard: spec!, query }));
      expect(items.length).toBeGreaterThan(0);
      answers++;
    }
  };
  const asking = Promise.all([0, 1, 2, 3, 4, 5].map(ask));
  for (let move = 0; move < 4; move++) {
    const before = answers;
    await until('some are answered', () =>
      Promise.race([asking.then(() => true), Promise.resolve(answers > before + 6)]),
    );
    const [holder] = await cluster.holders();
    await cluster.nodes.get(holder!)!.cluster.move(`${cluster.row.id}.0`, holder === 'a' ? 'b' : 'a');
  }
  isOver = true;
  await asking;
});
