import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fieldReader } from '../../../../../../lib/filter/field.ts';
import { parseFilter } from '../../../../../../lib/filter/parse.ts';
import { LIMITS } from '../../../../../../lib/limits.ts';
import { fieldsToFind } from '../../../../../../lib/shard/field-report.ts';
import type { EngineOptions } from '../../../../../../services/shards/engine/shard.ts';
import { propertyRuns } from '../../../../../support/effort.ts';
import { filter, metadata } from '../../../../../support/random-filters.ts';
import {
  queryWith,
  readIn,
  smallGraphShard,
  specWith,
  type TestRecord,
  upsertOf,
  write,
} from '../../../../../support/shard-engine.ts';

test.each<[string, EngineOptions, boolean]>([
  ['columns know every field', {}, true],
  ['columns, a step at a time, know every field', { stepNs: 1 }, true],
  ['columns that had to give way only keep silent', { stepNs: 1, columnsMinBytes: 0 }, false],
])('%s, and none reports a field that a record has', (_, options, knowsAll) => {
  fc.assert(
    fc.property(
      fc.array(metadata, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.array(filter, { minLength: 1, maxLength: 8 }),
      fc.array(fc.nat(40), { maxLength: 30, size: 'max' }),
      (initial, filters, gone) => {
        const shard = smallGraphShard(specWith({ dimensions: 2 }), options);
        const records = new Map(initial.map((metadata, i) => [`r${i}`, { values: [1, i], metadata } as TestRecord]));
        write(shard, upsertOf(records, 2));
        const check = () => {
          for (const given of filters) {
            const fields = fieldsToFind(parseFilter(given, LIMITS));
            // Caches the selection without a report.
            readIn(shard, (snapshot) => snapshot.count(queryWith([1, 1], { filter: given })));
            const report = readIn(shard, (snapshot) =>
              snapshot.count({ ...queryWith([1, 1], { filter: given }), fields }),
            ).fields;
            const has = (field: string) =>
              [...records.values()].some((each) => fieldReader(field)(each.metadata) !== undefined);
            const absent = records.size === 0 ? [] : fields.filter((field) => !has(field));
            const reported = (report?.absent ?? []).map(({ field }) => field);
            if (knowsAll && fields.length > 0) expect(reported).toEqual(absent);
            for (const field of reported) expect(absent).toContain(field);
            for (const { meant } of report?.absent ?? []) if (meant !== null) expect(has(meant)).toBe(true);
          }
        };
        check();
        write(shard, { kind: 'delete', ids: [...new Set(gone)].map((i) => `r${i}`) });
        for (const i of gone) records.delete(`r${i}`);
        check();
      },
    ),
    { numRuns: propertyRuns(60) },
  );
});
