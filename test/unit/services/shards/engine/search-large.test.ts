import { expect, test } from '@jest/globals';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { multipliedWrites, readDebian } from '../../../../support/debian.ts';
import { queryIn, queryWith, recallOf, settle, specWith, write } from '../../../../support/shard-engine.ts';

const RECALL_MIN = 0.99;
const QUERIES = 500;
const FILTERED_QUERIES = 100;

const data = readDebian();
if (data === null) console.info('search-large: PROVEC_TEST_DATA is not there.');
const onData = data === null ? test.skip : test;

onData.each([250_000, 500_000])(
  'recall of %i real embeddings and their noisy copies: 1, 10 and 100 best, and each filter',
  (records) => {
    const debian = data!;
    const shard = new Shard(specWith({ dimensions: debian.dimensions }), { graphThreads: 2 });
    for (const group of multipliedWrites(debian, records)) write(shard, group);
    settle(shard);
    const recall = (filter: Record<string, unknown> | null, topK: number, queries: number) => {
      const asked = debian.queries.slice(0, queries).map((vector) => queryWith(vector, { filter, topK }));
      const recalls = asked.map((query) => {
        const best = queryIn(shard, { ...query, exact: true });
        const found = queryIn(shard, query);
        expect(found).toHaveLength(best.length);
        return recallOf(found, best);
      });
      return recalls.reduce((sum, each) => sum + each, 0) / queries;
    };
    const recalls = [
      ...[1, 10, 100].map((topK): [string, number] => [`top ${topK}`, recall(null, topK, QUERIES)]),
      ...debian.filters.map(({ name, filter }): [string, number] => [name, recall(filter, 10, FILTERED_QUERIES)]),
    ];
    expect(recalls.filter(([, each]) => each < RECALL_MIN)).toEqual([]);
  },
  1_800_000,
);
