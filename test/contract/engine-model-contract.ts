import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Metric } from '../../lib/records/metric.ts';
import type { ShardEngine, ShardWrite } from '../../services/shards/engine/port.ts';
import { runThrough } from '../../services/shards/steps.ts';
import { isThorough } from '../support/effort.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import {
  Model,
  queryIn,
  queryWith,
  recallOf,
  rootOf,
  saveTo,
  specWith,
  stageIn,
  type TestRecord,
  upsertOf,
} from '../support/shard-engine.ts';
import { checkpointIn } from '../support/written-checkpoint.ts';
import type { MakeEngine } from './engine-contract.ts';

const FIRST_SEED = seed;
/** Number of seeds to run, one after another. */
const RUNS = Number(process.env.PROVEC_TEST_RUNS ?? 1);
console.info(`shard-random: PROVEC_TEST_SEED=${FIRST_SEED}, PROVEC_TEST_RUNS=${RUNS}`);

const DIMENSIONS = 6;
const FILTERS = [null, null, { tag: 't1' }, { n: { $lt: 40 } }, { tag: { $ne: 't2' }, n: { $gte: 5 } }, { list: 3 }];
const STEPS = 240;
const QUERIES_PER_CHECK = 4;
/**
 * The graph of a few hundred records misses one best match in tens of thousands. A graph that has
 * lost records misses them every time.
 */
const RECALL_MIN = 0.98;

/**
 * An engine with a clock that advances 0.1 ms per read, so that the seed determines how far
 * background work gets.
 */
function steadyEngine(make: MakeEngine): ShardEngine {
  let nowMs = 0;
  const monotonicMs = (): number => {
    nowMs += 0.1;
    return nowMs;
  };
  return make({ index: 'always', monotonicMs });
}

function run(make: MakeEngine, metric: Metric, seed: number, folder: string): void {
  const random = randomFrom(seed);
  const below = (n: number) => Math.floor(random() * n);
  const spec = specWith({ dimensions: DIMENSIONS, metric });
  const model = new Model(spec);
  let shard = steadyEngine(make).create(spec);
  const replica = steadyEngine(make).create(spec);
  const recalls: number[] = [];
  let universe = 300;

  const randomRecord = (): TestRecord => {
    const long = random() < 0.02 ? 50 : 1;
    const values = Array.from({ length: DIMENSIONS }, () => Math.fround(long * (random() - 0.5)));
    return {
      values,
      metadata: { tag: `t${below(4)}`, n: below(100), list: [below(5), 'x'], pad: 'p'.repeat(below(600)) },
    };
  };
  const randomWrite = (): ShardWrite => {
    const ids = [...new Set(Array.from({ length: 1 + below(40) }, () => `id-${below(universe)}`))];
    if (random() < 0.4) return { kind: 'delete', ids };
    return upsertOf(
      ids.map((id): [string, TestRecord] => {
        const known = model.records.get(id);
        if (known === undefined || random() < 0.6) return [id, randomRecord()];
        return [id, random() < 0.5 ? known : { ...known, metadata: randomRecord().metadata }];
      }),
      DIMENSIONS,
    );
  };
  const checkQuery = () => {
    const query = queryWith(randomRecord().values, {
      topK: [1, 10, 10_000][below(3)],
      filter: FILTERS[below(FILTERS.length)],
      includeMetadata: true,
      includeValues: true,
      scoreThreshold: random() < 0.2 ? 0.2 : null,
    });
    const expected = model.query(query);
    const exact = queryIn(shard, { ...query, exact: true });
    expect(exact.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
    const found = queryIn(shard, query);
    if (query.scoreThreshold === null) expect(found).toHaveLength(expected.length);
    expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
    recalls.push(recallOf(found, exact));
    const contents = found.map(({ values, metadata }) => ({ values: [...values!], metadata: JSON.parse(metadata!) }));
    expect(contents).toEqual(found.map(({ id }) => model.records.get(id)));
    const scores = new Map(exact.map(({ id, score }) => [id, score]));
    const alike = found.filter(({ id, score }) => score === (scores.get(id) ?? score));
    expect(alike).toHaveLength(found.length);
  };
  const check = () => {
    expect(shard.records).toBe(model.records.size);
    expect(rootOf(shard)).toBe(model.root());
    for (let i = 0; i < QUERIES_PER_CHECK; i++) checkQuery();
  };

  for (let step = 0; step < STEPS; step++) {
    if (step % 100 === 60) universe = 40;
    if (step % 100 === 80) universe = 600;
    const group = Array.from({ length: 1 + below(3) }, randomWrite);
    const { commit } = stageIn(shard, group);
    if (random() < 0.15) {
      queryIn(shard, queryWith(randomRecord().values));
      shard.abort();
      check();
    } else if (commit !== null) {
      shard.commit();
      for (const write of group) model.apply(write);
      expect(replica.replay({ seq: commit.head.seq, kind: 'write', head: commit.head, body: commit.body })).toBe(true);
    }
    shard.maintain(below(20) / 10);
    if (step % 5 === 0) check();
    if (step % 90 === 89) {
      const checkpoint = mkdtempSync(join(folder, 'checkpoint-'));
      saveTo(checkpoint, shard);
      shard = runThrough(steadyEngine(make).load(checkpointIn(checkpoint), spec));
      check();
    }
  }
  expect(replica.head).toEqual(shard.head);
  expect(recalls.reduce((sum, recall) => sum + recall) / recalls.length).toBeGreaterThanOrEqual(RECALL_MIN);
}

const METRICS = ['cosine', 'euclidean', 'dot'] as const;

/** Random writes, aborts, replays, rebuilds, reloads and compactions, against a plain map. */
export function modelContract(make: MakeEngine): void {
  test.each(isThorough ? METRICS : [METRICS[FIRST_SEED % METRICS.length]!])(
    'agrees with a plain map: %s',
    (metric) => {
      const folder = mkdtempSync(join(tmpdir(), 'provec-shard-'));
      try {
        for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed++) run(make, metric, seed, folder);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
    60_000 * RUNS,
  );
}
