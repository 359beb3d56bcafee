import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { INTERNAL_LIMITS } from '../../../lib/limits.ts';
import { monthOf } from '../../../lib/time/month.ts';
import type { Store } from '../../../store/port.ts';
import { openSqliteStore } from '../../../store/sqlite/store.ts';
import { queryCounter } from '../../support/query-counter.ts';
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

/** Runs a process that takes queries, kills it after `count` of them, and returns its output. */
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

const month = monthOf(Date.now());

test('killed processes lose only what they held, and the rest can be used up', async () => {
  let taken = 0;
  for (let kill = 1; kill <= KILLS; kill++) {
    taken += answered(await takeUntilKilled(countOf(kill), LIMIT));
    const { queries, blocks } = await store.usage.readQueries(accountId, month);
    expect(queries).toBeGreaterThanOrEqual(taken);
    expect(blocks.length).toBeLessThanOrEqual(kill);
  }
  const { queries, blocks } = await store.usage.readQueries(accountId, month);
  const held = blocks.reduce((sum, { granted }) => sum + granted, 0);
  // A block contains the queries taken in advance, and the query that it was opened for.
  expect(held).toBeLessThanOrEqual(KILLS * (INTERNAL_LIMITS.queryBlockMax + 1));
  expect(queries - held).toBeLessThanOrEqual(taken);
  const last = await takeUntilKilled(LIMIT, LIMIT);
  expect(answered(last)).toBe(LIMIT - queries);
  // At this point the nodes cannot know that the killed holders of the rest will not come back.
  expect(last.at(-1)).toBe(held > 0 ? 'UNAVAILABLE' : 'PLAN_LIMIT_REACHED');
  expect((await store.usage.readQueries(accountId, month)).queries).toBe(LIMIT);
});

test('without a limit, a report right after a kill says how much of it is uncertain', async () => {
  const { quota } = queryCounter(store.usage);
  let taken = 0;
  for (let kill = 1; kill <= KILLS; kill++) {
    taken += answered(await takeUntilKilled(countOf(kill)));
    const { row, uncertain } = await quota.read(accountId);
    expect(row.queries).toBeGreaterThanOrEqual(taken);
    // Each killed process may have counted one query without reporting it.
    expect(row.queries - uncertain).toBeLessThanOrEqual(taken + kill);
  }
  await quota.close();
});
