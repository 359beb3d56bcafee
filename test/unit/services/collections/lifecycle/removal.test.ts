import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { Caller } from '../../../../../contracts/actions/call.ts';
import { Removal } from '../../../../../services/collections/lifecycle/removal.ts';
import type { CollectionRow } from '../../../../../store/catalog.ts';
import type { Store } from '../../../../../store/port.ts';
import { until } from '../../../../support/until.ts';

const ACCOUNT = 'a';
const COUNT = 20;

let rows: Map<string, CollectionRow>;
let [running, runningMax] = [0, 0];

/** A removal of `COUNT` dropped collections of one account. Dropping the shards takes a turn. */
function start(): Removal {
  rows = new Map(
    Array.from({ length: COUNT }, (_, at) => [`c${at}`, { id: `c${at}`, accountId: ACCOUNT } as CollectionRow]),
  );
  [running, runningMax] = [0, 0];
  const catalog: Partial<Store['catalog']> = {
    listDropped: async () => [...rows.values()],
    forgetDropped: async (id) => void rows.delete(id),
  };
  const caller: Caller = {
    async call(action) {
      if (action !== 'shards.drop') return null;
      runningMax = Math.max(runningMax, ++running);
      await new Promise(setImmediate);
      running--;
      return null;
    },
  };
  const runtime = { store: { catalog } as Store, log: pino({ level: 'silent' }) };
  return new Removal(caller, runtime, async () => undefined);
}

test.each([
  ['taken up at the start', (removal: Removal) => removal.resume()],
  ['of one account', (removal: Removal) => removal.clearAll(ACCOUNT)],
])('few of many removals %s run at a time', async (_, remove) => {
  const removal = start();
  await remove(removal);
  await until('everything is removed', () => rows.size === 0);
  expect(runningMax).toBe(4);
  await removal.stop();
});
