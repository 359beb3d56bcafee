/**
 * Takes queries of the account argv[3] from the store in argv[2] (limit argv[4], none without it), as a
 * node of a cluster, until it is killed; says `taken` for each one that was answered.
 */
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import { ProvecError } from '../../lib/errors.ts';
import { SYSTEM_CLOCK } from '../../lib/runtime.ts';
import { openSqliteStore } from '../../lib/store/sqlite/store.ts';
import { BlockUses } from '../../services/metering/block-uses.ts';
import { QueryQuota } from '../../services/metering/query-quota.ts';

const [, , folder, accountId, limit] = process.argv as [string, string, string, string, string | undefined];
const { usage } = await openSqliteStore(`${folder}/store`);
const uses = new BlockUses({ folder: `${folder}/uses`, usage, clock: SYSTEM_CLOCK, log: pino({ level: 'silent' }) });
await uses.start();
const quota = new QueryQuota({
  usage,
  uses,
  clock: SYSTEM_CLOCK,
  pricingUrl: '',
  node: `taker-${process.pid}`,
  recall: async () => {},
  usesElsewhere: async () => [],
});
setInterval(() => {
  uses.beat();
  void quota.tick();
}, 1_000);
const limits = {
  queries: limit === undefined ? null : Number(limit),
  writes: null,
  vectors: null,
  collections: null,
  keys: null,
  anchoring: false,
};

writeSync(1, 'ready\n');
for (;;) {
  try {
    await quota.take(accountId, { plan: 'free', limits });
    writeSync(1, 'taken\n');
  } catch (error) {
    if (!(error instanceof ProvecError)) throw error;
    writeSync(1, `${error.code}\n`);
    process.exit();
  }
}
