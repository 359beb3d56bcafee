/**
 * Processes write to one folder. One after another is killed, or closes the store, at a random
 * instant; its acknowledged writes are checked, and it is restarted. So files are opened, closed
 * and recovered next to active writers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { Store } from '../../../../store/port.ts';
import { openSqliteStore } from '../../../../store/sqlite/store.ts';
import { newCollection, readAll } from '../../../contract/store-rows.ts';
import { isThorough } from '../../../support/effort.ts';
import { invariant } from '../../../support/invariant.ts';
import { randomFrom } from '../../../support/random.ts';
import { seed } from '../../../support/seed.ts';
import { StartedProcess } from '../../../support/service-process.ts';
import { TEST_KEYS } from '../../../support/store-keys.ts';
import { until } from '../../../support/until.ts';

const SHARDS = 4;
const MONTH = '2026-11';
const SCRIPT = join(import.meta.dirname, '../../../support/store-writer.ts');
const REST_MS = isThorough ? '0' : '1';
const random = randomFrom(seed);

/** Writes to its own collection, over several lives. */
class Writer {
  readonly #folder: string;
  readonly #collectionId: string = newCollection().id;
  /** Known entries of each shard, and the known mark of the records. */
  readonly #committed = Array.from({ length: SHARDS }, () => 0);
  #applied = 0;
  #run: StartedProcess;

  constructor(folder: string) {
    this.#folder = folder;
    this.#run = this.#start();
  }

  restart(): void {
    this.#run = this.#start();
  }

  async hasSaid(lines: number): Promise<void> {
    const run = this.#run;
    await until('a writer has written', () => run.stdout.split('\n').length > lines || run.stderr !== '');
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#run.child.kill(signal);
    const { code, signal: endedBy } = await this.#run.ended;
    expect({ code, endedBy, stderr: this.#run.stderr }).toEqual(
      signal === 'SIGKILL' ? { code: null, endedBy: signal, stderr: '' } : { code: 0, endedBy: null, stderr: '' },
    );
  }

  dispose(): void {
    this.#run.dispose();
  }

  /**
   * Checks the store against the output of the life that ended, and continues from the stored
   * state; `whole`: checks against the output of all lives.
   */
  async check({ log, records, usage }: Store, whole: boolean): Promise<void> {
    const acknowledged = [...this.#committed];
    for (const line of this.#run.stdout.split('\n').slice(0, -1)) {
      const [who, seq] = line.split(' ');
      if (who === 'r') this.#applied = Number(seq);
      else if (who !== 'open') acknowledged[Number(who)] = Number(seq);
    }
    for (const [index, seq] of acknowledged.entries()) {
      const shard = `${this.#collectionId}.${index}`;
      const afterSeq = whole ? 0 : this.#committed[index];
      const entries = await log.read(shard, afterSeq, Number.MAX_SAFE_INTEGER);
      const newest = afterSeq + entries.length;
      expect(newest).toBeGreaterThanOrEqual(seq);
      // At most one more append than reported: the one in flight.
      expect(newest).toBeLessThanOrEqual(seq + 1);
      expect(entries.every((entry, at) => entry.seq === afterSeq + at + 1)).toBe(true);
      expect(entries.every(({ seq: at, body }) => Buffer.alloc(body.length, at).equals(body))).toBe(true);
      expect((await log.head(shard))?.seq ?? 0).toBe(newest);
      this.#committed[index] = newest;
    }
    const total = this.#committed.reduce((sum, count) => sum + count);
    expect(await usage.read(this.#collectionId, MONTH)).toEqual({ writes: total, queries: 0, vectors: total });
    const mark = await records.appliedSeq(`${this.#collectionId}.0`);
    expect(mark).toBeGreaterThanOrEqual(this.#applied);
    const found = await readAll(await records.scan(`${this.#collectionId}.0`));
    expect(found.size).toBe(mark === 0 ? 0 : mark + 1);
    if (mark > 0) expect(found.get('newest')?.seq).toBe(mark);
  }

  #start(): StartedProcess {
    return new StartedProcess({}, [], [process.execPath, SCRIPT, this.#folder, this.#collectionId, REST_MS]);
  }
}

async function outlivesEnds(writerCount: number, ends: number, linesMax: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'provec-kill-'));
  const writers = Array.from({ length: writerCount }, () => new Writer(folder));
  try {
    for (let end = 0; end < ends; end++) {
      const writer = writers[end % writerCount];
      await writer.hasSaid(1 + Math.floor(random() * linesMax));
      await writer.end(random() < 0.7 ? 'SIGKILL' : 'SIGTERM');
      const store = await openSqliteStore(folder, { keys: TEST_KEYS });
      await writer.check(store, end >= ends - writerCount);
      await store.close();
      writer.restart();
    }
  } finally {
    for (const writer of writers) writer.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

const HANGING_MS = isThorough ? 600_000 : 120_000;

test.each(
  isThorough
    ? [
        [12, 1, 400],
        [120, 3, 60],
      ]
    : [[4, 3, 60]],
)(
  'no acknowledged write is missing and no log has a gap after %i ends, most by SIGKILL, of %i writing processes',
  (ends, writerCount, linesMax) =>
    invariant('what was acknowledged outlives SIGKILL', () => outlivesEnds(writerCount, ends, linesMax)),
  // Only to end a hanging test: a busy machine takes long to start so many processes.
  HANGING_MS,
);
