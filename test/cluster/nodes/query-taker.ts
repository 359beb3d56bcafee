/**
 * Takes queries of the account argv[3] from the store in argv[2] (limit argv[4], default none), as
 * a node of a cluster, until it is killed. Prints `taken` for each acknowledged query.
 */
import { writeSync } from 'node:fs';
import { ProvecError } from '../../../lib/errors.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { queryCounter } from '../../support/query-counter.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';

const [, , folder, accountId, limit] = process.argv as [string, string, string, string, string | undefined];
const { usage } = await openSqliteStore(`${folder}/store`, { keys: TEST_KEYS });
const { quota, take } = queryCounter(usage);
setInterval(() => void quota.tick(), 1_000);
writeSync(1, 'ready\n');
for (;;) {
  try {
    await take(accountId, limit === undefined ? null : Number(limit));
    writeSync(1, 'taken\n');
  } catch (error) {
    if (!(error instanceof ProvecError)) throw error;
    writeSync(1, `${error.code}\n`);
    process.exit();
  }
}
