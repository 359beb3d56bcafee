import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Store } from '../../../lib/store/port.ts';
import { openSqliteStore } from '../../../lib/store/sqlite/store.ts';
import { monthOf } from '../../../lib/time/month.ts';
import { startQueryCounter } from '../../support/query-counter.ts';
import { seed } from '../../support/seed.ts';
import { TEST_KEYS } from '../../support/store-keys.ts';

const LIMIT = 3_000;
const KILLS = 4;

let folder: string;
let store: Store;
const accountId = randomUUID();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-killed-'));
  store = await openSqliteStore(join(folder, 'store'), { keys: TEST_KEYS });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

/**
 * Runs a process that takes queries until it has taken `count`, kills it then; gives what it said.
 */
async function takeUntilKilled(count: number, limit?: number): Promise<string[]> {
  const program = join(import.meta.dirname, 'query-taker.ts');
  const taker = spawn(process.execPath, [program, folder, accountId, ...(limit === undefined ? [] : [String(limit)])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  taker.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
    if (said.split('taken').length > count) taker.kill('SIGKILL');
  });
  await once(taker, 'close');
  return said.split('\n').slice(0, -1);
}

const countOf = (kill: number): number => 100 + ((seed >>> (4 * kill)) % 400);
const answered = (lines: string[]): number => lines.filter((line) => line === 'taken').length;

test('processes that are killed give back exactly what they did not use, to the next one', async () => {
  let taken = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    taken += answered(await takeUntilKilled(countOf(kill), LIMIT));
    const { queries, blocks } = await store.usage.readQueries(accountId, monthOf(Date.now()));
    expect(queries).toBeGreaterThanOrEqual(taken);
    // It died with a block in hand, and was the first to give back what those before it left.
    expect(blocks.length).toBeLessThanOrEqual(1);
  }
  const last = await takeUntilKilled(LIMIT, LIMIT);
  taken += answered(last);
  expect(last.at(-1)).toBe('PLAN_LIMIT_REACHED');
  expect(await store.usage.readQueries(accountId, monthOf(Date.now()))).toEqual({ queries: LIMIT, blocks: [] });
  // Each of the killed may have counted one that it had no time to say.
  expect(taken).toBeLessThanOrEqual(LIMIT);
  expect(taken).toBeGreaterThanOrEqual(LIMIT - KILLS);
  expect((await readdir(join(folder, 'uses'))).length).toBeLessThanOrEqual(1);
});

test('without a limit a report that comes right after a kill counts what the dead process had answered', async () => {
  const { quota, end } = await startQueryCounter(store.usage, join(folder, 'uses'));
  let taken = 0;
  for (let kill = 1; kill <= KILLS; kill++) {
    taken += answered(await takeUntilKilled(countOf(kill)));
    const { row, uncertain } = await quota.read(accountId);
    expect(uncertain).toBe(0);
    expect(row.queries).toBeGreaterThanOrEqual(taken);
    // It may have counted one that it had no time to say.
    expect(row.queries).toBeLessThanOrEqual(taken + kill);
  }
  await end();
});
