/** Scheduling of reads on a store's log thread, with its real files. */
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { FromThread, TableName } from '../../../../../store/sqlite/requests.ts';
import { Session } from '../../../../../store/sqlite/thread/session.ts';
import { TEST_KEYS } from '../../../../support/store-keys.ts';

const LOOKUPS = 50;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'provec-session-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('all look-ups of API keys together take one turn, whatever keys clients make up', () => {
  const answered: number[] = [];
  const post = (message: FromThread) => {
    if ('replies' in message) answered.push(...message.replies.map(({ id }) => id));
  };
  const session = new Session({ role: 'log', folder, keys: TEST_KEYS, made: false, maxPages: null }, post);
  const read = (id: number, table: TableName, operation: string, ...args: unknown[]) =>
    session.receive({ id, table, operation, args, bytes: 0, buffers: [] });
  for (let id = 0; id < LOOKUPS; id++) read(id, 'keys', 'findByHash', randomBytes(32).toString('hex'));
  read(LOOKUPS, 'usage', 'read', randomUUID(), '2026-11');
  // Runs the waiting reads in order.
  session.close();
  expect(answered).toHaveLength(LOOKUPS + 1);
  expect(answered.indexOf(LOOKUPS)).toBe(1);
});
