/** What a kill leaves of a plan that is deleted while an account gets it. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DEFAULT_PLANS } from '../../../../lib/plans.ts';
import { SYSTEM_CLOCK } from '../../../../lib/time/clock.ts';
import { readConfig } from '../../../../process/config.ts';
import { PlanBook } from '../../../../process/plan-book.ts';
import { PlanCatalog } from '../../../../services/keys/plan-catalog.ts';
import type { AccountRow } from '../../../../store/catalog.ts';
import type { Store } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { rejectedError } from '../../../support/accounts.ts';
import { invariant } from '../../../support/invariant.ts';
import { StartedProcess } from '../../../support/service-process.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';

const SCRIPT = join(import.meta.dirname, '../../../support/killed-plan-changes.ts');

let folder: string;
let store: Store;
let book: PlanBook;
let plans: PlanCatalog;
let acknowledged: string[];
let accounts: AccountRow[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-plans-'));
  const run = new StartedProcess({}, [], [process.execPath, SCRIPT, folder]);
  expect({ ...(await run.ended), stderr: run.stderr }).toEqual({ code: null, signal: 'SIGKILL', stderr: '' });
  acknowledged = run.stdout.split('\n').slice(0, -1);
  store = await openSqliteStore(folder, { keys: TEST_KEYS });
  book = new PlanBook({ config: readConfig({}), store, clock: SYSTEM_CLOCK });
  plans = new PlanCatalog(store, book);
  accounts = (await store.catalog.accountsPage(null, 1_000)).rows;
});
afterAll(async () => {
  await store?.close();
  await rm(folder, { recursive: true, force: true });
});

test('no account is left without limits, whatever was acknowledged', async () => {
  const given = accounts.filter(({ plan }) => plan !== 'free');
  const stillThere = new Set(await plans.names());
  // The kill came at every step: also between a deletion and the account that it found.
  expect(given.filter(({ plan }) => !stillThere.has(plan)).length).toBeGreaterThan(0);
  expect(given.filter(({ plan }) => stillThere.has(plan)).length).toBeGreaterThan(0);
  await invariant('every account has the limits of its plan', async () => {
    for (const { plan } of given) expect(await book.limitsOf(plan)).toEqual(DEFAULT_PLANS.pro);
  });
});

test('of the two operations at most one was acknowledged, and what was deleted is not there', async () => {
  const deleted = acknowledged.filter((line) => line.endsWith(' delete')).map((line) => line.split(' ')[0]!);
  const given = acknowledged.filter((line) => !line.endsWith(' delete')).map((line) => line.split(' ')[0]!);
  expect([deleted.length > 0, given.length > 0]).toEqual([true, true]);
  const names = await plans.names();
  invariant('a deleted plan is gone', () => {
    expect(deleted.filter((name) => given.includes(name))).toEqual([]);
    expect(deleted.filter((name) => names.includes(name))).toEqual([]);
  });
});

test('the operator can repeat the deletion and make the plan again', async () => {
  const names = new Set(await plans.names());
  const hasAccount = new Set(accounts.map(({ plan }) => plan));
  for (const name of new Set(accounts.map((row) => row.name))) {
    if (!names.has(name)) expect((await rejectedError(plans.delete(name))).code).toBe('PLAN_NOT_FOUND');
    else if (hasAccount.has(name)) expect((await rejectedError(plans.delete(name))).code).toBe('PLAN_IN_USE');
    else await plans.delete(name);
  }
  const [orphaned] = accounts.filter(({ plan }) => plan !== 'free' && !names.has(plan));
  const limits = { ...DEFAULT_PLANS.pro, vectors: 1 };
  for (const { name } of await store.plans.list()) if (names.has(name)) await store.plans.remove(name);
  expect(await plans.put(orphaned!.plan, limits)).toMatchObject({ source: 'stored' });
  book.forget();
  expect(await book.limitsOf(orphaned!.plan)).toEqual(limits);
});
