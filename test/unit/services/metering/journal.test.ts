import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ownIdentity } from '../../../../lib/process/process-identity.ts';
import type { UsageStore } from '../../../../lib/store/usage.ts';
import { bootOfMachine, JournalAdoption } from '../../../../services/metering/journal-adoption.ts';
import { type JournalOwner, UseJournal } from '../../../../services/metering/use-journal.ts';
import { eventually, HandClock, openTemporaryStore } from '../../../support/accounts.ts';
import { startQueryCounter } from '../../../support/query-counter.ts';

const MONTH = '2026-11';
const LIMIT = 100;

let opened: Awaited<ReturnType<typeof openTemporaryStore>>;
let usage: UsageStore;
let folder: string;
let clock: HandClock;
let self: JournalOwner;
let accountId: string;

beforeAll(async () => {
  opened = await openTemporaryStore();
  ({ usage } = opened.store);
});
afterAll(() => opened.destroy());

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'provec-journal-'));
  clock = new HandClock();
  self = { process: await ownIdentity(), boot: await bootOfMachine() };
  accountId = randomUUID();
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A journal of a process that has used 3 of a block of 10. */
async function journalOf(owner: JournalOwner): Promise<UseJournal> {
  const journal = new UseJournal(folder, owner, clock);
  const id = randomUUID();
  journal.begin({ accountId, month: MONTH, id });
  expect(await usage.openBlock(accountId, MONTH, { id, node: 'a' }, 10, LIMIT)).toBe(10);
  for (const used of [1, 2, 3]) journal.note(id, used);
  return journal;
}
const adoption = () => new JournalAdoption({ folder, boot: self.boot, usage, clock });
const taken = async () => (await usage.readQueries(accountId, MONTH)).queries;

test('what a dead process left is given back at once, and only once', async () => {
  const journal = await journalOf({ ...self, process: { ...self.process, pid: 2 ** 22 + 1 } });
  journal.close();
  await Promise.all([adoption().adopt(null), adoption().adopt(null)]);
  expect(await taken()).toBe(3);
  expect(await readdir(folder)).toEqual([]);
});

test('a living process keeps what it has for as long as it shows that it lives', async () => {
  const journal = await journalOf(self);
  const observer = adoption();
  for (let second = 0; second < 20; second++) {
    await observer.adopt(null);
    clock.advance(1_000);
    journal.beat();
  }
  expect(journal.isCurrent).toBe(true);
  expect(await taken()).toBe(10);
  await observer.adopt(null);
  clock.advance(6_000);
  expect(journal.isCurrent).toBe(false);
  clock.advance(1_499);
  await observer.adopt(null);
  expect(await taken()).toBe(10);
  clock.advance(1);
  journal.beat();
  await observer.adopt(null);
  expect(await taken()).toBe(3);
  expect(journal.isCurrent).toBe(false);
  journal.close();
});

test('a journal of an earlier start of the machine is not believed: its last uses may be missing', async () => {
  const journal = await journalOf({ process: { ...self.process, pid: 2 ** 22 + 1 }, boot: 'another boot' });
  journal.close();
  const observer = adoption();
  await observer.adopt(null);
  clock.advance(7_500);
  await observer.adopt(null);
  expect(await taken()).toBe(10);
  expect(await readdir(folder)).toEqual([]);
});

test('a file that is no journal harms nobody', async () => {
  await writeFile(join(folder, 'short.uses'), 'x');
  await writeFile(join(folder, 'empty.uses'), Buffer.alloc(4_096));
  await writeFile(join(folder, 'another'), 'x');
  const observer = adoption();
  await observer.adopt(null);
  clock.advance(7_500);
  await observer.adopt(null);
  expect(await readdir(folder)).toEqual(['another']);
});

test('where no journal can be written queries are counted all the same', async () => {
  const file = join(folder, 'a-file');
  await writeFile(file, '');
  const { take, end } = await startQueryCounter(usage, join(file, 'uses'), clock);
  const outcomes = await Promise.allSettled(Array.from({ length: LIMIT + 5 }, () => take(accountId, LIMIT)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(LIMIT);
  await end();
  expect(await usage.readQueries(accountId, MONTH)).toEqual({ queries: LIMIT, blocks: [] });
});

test('a store that grants nothing although it has some left ends the wait', async () => {
  const stingy: UsageStore = Object.assign(Object.create(usage), { openBlock: async () => 0 });
  const { take, end } = await startQueryCounter(stingy, folder, clock);
  await expect(take(accountId, LIMIT)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await end();
});

test('a process that stood still while it opened a block counts what it uses of it all the same', async () => {
  const gate = Promise.withResolvers<void>();
  let isOpening = false;
  const slow: UsageStore = Object.assign(Object.create(usage), {
    openBlock: async (...ask: Parameters<UsageStore['openBlock']>) => {
      const granted = await usage.openBlock(...ask);
      isOpening = true;
      await gate.promise;
      return granted;
    },
  });
  const { uses, quota, take, end } = await startQueryCounter(slow, folder, clock);
  const first = Promise.all(Array.from({ length: 20 }, () => take(accountId, null)));
  await eventually(() => isOpening);
  clock.advance(6_000);
  uses.beat();
  const ticked = quota.tick();
  gate.resolve();
  await Promise.all([first, ticked]);
  // Whoever finds that the journal of before stands still gives back what it says is unused.
  const observer = adoption();
  for (let second = 0; second < 10; second++) {
    await observer.adopt(null);
    clock.advance(1_000);
    uses.beat();
  }
  for (let i = 0; i < 3; i++) await take(accountId, null);
  await end();
  expect(await usage.readQueries(accountId, MONTH)).toEqual({ queries: 23, blocks: [] });
});

test('a journal that could not be written is tried again', async () => {
  await rm(folder, { recursive: true });
  await writeFile(folder, '');
  const { uses, take, end } = await startQueryCounter(usage, folder, clock);
  await take(accountId, null);
  await rm(folder);
  uses.beat();
  expect(await readdir(folder)).toHaveLength(1);
  await take(accountId, null);
  await end();
  expect(await taken()).toBe(2);
});
