/**
 * Appends to several shards of the store in argv[2] forever, and applies their records. Prints
 * `<shard index> <seq>` for each acknowledged append and `r <seq>` for each acknowledged apply.
 * SIGTERM makes it close the store and exit. It pauses for argv[4] milliseconds after each, to
 * leave processor time for other tests.
 */
import { writeSync } from 'node:fs';
import { setTimeout as rest } from 'node:timers/promises';
import { openSqliteStore } from '../../store/sqlite/store.ts';
import { entry, put } from '../contract/store-rows.ts';
import { TEST_KEYS } from './store-keys.ts';

const [, , folder, collectionId, restMs] = process.argv;
const store = await openSqliteStore(folder, { keys: TEST_KEYS });
// Written to the pipe synchronously: everything printed was acknowledged, and at most the line in
// progress is missing.
function say(line: string): void {
  for (;;) {
    try {
      writeSync(1, `${line}\n`);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      // The reader has yet to make room in the pipe.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

async function acknowledged(line: string): Promise<void> {
  say(line);
  if (restMs !== '0') await rest(Number(restMs));
}

let isTold = false;
process.on('SIGTERM', () => {
  isTold = true;
});

async function append(index: number): Promise<void> {
  const shard = `${collectionId}.${index}`;
  const tally = { accountId: collectionId, month: '2026-11', writes: 1, vectors: 1 };
  for (let seq = ((await store.log.head(shard))?.seq ?? 0) + 1; !isTold; seq++) {
    const body = Buffer.alloc(seq % 50 === 0 ? 300_000 : 1_000, seq);
    if ((await store.log.append(entry(shard, seq, { tally, body }))) !== 'committed') throw new Error('conflict');
    await acknowledged(`${index} ${seq}`);
  }
}

async function apply(): Promise<void> {
  const shard = `${collectionId}.0`;
  for (let seq = (await store.records.appliedSeq(shard)) + 1; !isTold; seq++) {
    await store.records.apply(shard, seq - 1, seq, [put(`r${seq}`, seq), put('newest', seq)]);
    await acknowledged(`r ${seq}`);
  }
}

say('open');
await Promise.all([append(0), append(1), append(2), append(3), apply()]);
await store.close();
