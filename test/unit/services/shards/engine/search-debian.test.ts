import { expect, test } from '@jest/globals';
import { Shard } from '../../../../../services/shards/engine/shard.ts';
import { debianWrites, readDebian } from '../../../../support/debian.ts';
import { matchesInTruth, queryIn, queryWith, settle, specWith, write } from '../../../../support/shard-engine.ts';

const RECALL_MIN = 0.99;

const data = readDebian();
if (data === null) console.info('search-debian: PROVEC_TEST_DATA is not there; see search-recall for generated data.');
const onData = data === null ? test.skip : test;

onData(
  'Debian packages: recall of all queries and of each filter with default settings',
  () => {
    const debian = data!;
    const shard = new Shard(specWith({ dimensions: debian.dimensions }));
    for (const group of debianWrites(debian)) write(shard, group);
    settle(shard);
    const recalls: [string, number][] = [];
    const everything = { name: null, filter: null, matching: debian.records };
    for (const { name, filter, matching } of [everything, ...debian.filters]) {
      let reached = 0;
      let wanted = 0;
      debian.truth(name).forEach((rows, i) => {
        const best = rows.slice(0, 10);
        const found = queryIn(shard, queryWith(debian.queries[i], { filter }));
        expect(found).toHaveLength(Math.min(10, matching));
        reached += matchesInTruth(found, best, debian, debian.queries[i]);
        wanted += best.length;
      });
      recalls.push([name ?? 'no filter', wanted === 0 ? 1 : reached / wanted]);
    }
    expect(recalls.filter(([, recall]) => recall < RECALL_MIN)).toEqual([]);
  },
  300_000,
);
