import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openSqliteStore } from '../../lib/store/sqlite/store.ts';
import { newCollection, readAll } from '../contract/store-rows.ts';
import { isThorough } from '../support/effort.ts';
import { invariant } from '../support/invariant.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';

const KILLS = isThorough ? 12 : 5;
const SHARDS = 4;
const random = randomFrom(seed);

/** Runs the writer until it has said `lines` lines, kills it then, and gives all that it said. */
async function runUntilKilled(folder: string, collectionId: string, lines: number): Promise<string[]> {
  const writer = spawn(
    process.execPath,
    [join(import.meta.dirname, '../support/store-writer.ts'), folder, collectionId],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const said: string[] = [];
  let rest = '';
  writer.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    said.push(...parts);
    if (said.length >= lines) writer.kill('SIGKILL');
  });
  const [, signal] = await once(writer, 'close');
  expect(signal).toBe('SIGKILL');
  return said;
}

async function outlivesKills(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'provec-kill-'));
  const { id } = newCollection();
  const acknowledged = Array.from({ length: SHARDS }, () => 0);
  let applied = 0;
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      for (const line of await runUntilKilled(folder, id, 1 + Math.floor(random() * 399))) {
        const [who, seq] = line.split(' ');
        if (who === 'r') applied = Math.max(applied, Number(seq));
        else if (who !== 'open') acknowledged[Number(who)] = Math.max(acknowledged[Number(who)], Number(seq));
      }
      const store = await openSqliteStore(folder);
      let committed = 0;
      for (let index = 0; index < SHARDS; index++) {
        const entries = await store.log.read(`${id}.${index}`, 0, Number.MAX_SAFE_INTEGER);
        expect(entries.length).toBeGreaterThanOrEqual(acknowledged[index]);
        // At most the one append in flight beyond what was said.
        expect(entries.length).toBeLessThanOrEqual(acknowledged[index] + 1);
        expect(entries.every(({ seq, body }, i) => seq === i + 1 && body.every((byte) => byte === seq % 256))).toBe(
          true,
        );
        expect((await store.log.head(`${id}.${index}`))?.seq ?? 0).toBe(entries.length);
        acknowledged[index] = entries.length;
        committed += entries.length;
      }
      expect(await store.usage.read('account', '2026-11')).toEqual({
        writes: committed,
        queries: 0,
        vectors: committed,
      });
      const mark = await store.records.appliedSeq(`${id}.0`);
      expect(mark).toBeGreaterThanOrEqual(applied);
      const records = await readAll(await store.records.scan(`${id}.0`));
      expect(records.size).toBe(mark === 0 ? 0 : mark + 1);
      if (mark > 0) expect(records.get('newest')?.seq).toBe(mark);
      await store.close();
    }
    expect(acknowledged.every((seq) => seq > 0)).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test(`nothing acknowledged is missing after ${KILLS} SIGKILLs at random instants, and no log has a gap`, () =>
  invariant('what was acknowledged outlives SIGKILL', outlivesKills));
