/** Several processes write to one folder; one after the other is killed, or closes the store, at a random instant and is started again, so that files are opened, closed and recovered beside writers. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, test } from '@jest/globals';
import { openSqliteStore } from '../../lib/store/sqlite/store.ts';
import { newCollection, readAll } from '../contract/store-rows.ts';
import { isThorough } from '../support/effort.ts';
import { invariant } from '../support/invariant.ts';
import { randomFrom } from '../support/random.ts';
import { seed } from '../support/seed.ts';
import { until } from '../support/until.ts';

const KILLS = isThorough ? 300 : 9;
const WRITERS = 3;
const SHARDS = 4;
const random = randomFrom(seed);

/** Writes to a collection of its own, in one life after the other. */
class Writer {
  readonly collectionId = newCollection().id;
  /** The last seq of each shard that was acknowledged in any life, and of the records. */
  readonly acknowledged = Array.from({ length: SHARDS }, () => 0);
  applied = 0;
  /** Of this life. */
  lines = 0;
  faults: string[] = [];
  #child: ChildProcess | null = null;
  #over: Promise<unknown> = Promise.resolve();

  start(folder: string): void {
    this.lines = 0;
    const script = join(import.meta.dirname, '../support/store-writer.ts');
    const child = spawn(process.execPath, [script, folder, this.collectionId], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.faults.push(text));
    createInterface(child.stdout).on('line', (line) => this.#hear(line));
    this.#child = child;
    this.#over = once(child, 'close');
  }

  /** SIGKILL, or SIGTERM, on which it closes the store. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.#child?.kill(signal);
    await this.#over;
    const { exitCode, signalCode } = this.#child!;
    const isAsTold = signal === 'SIGKILL' ? signalCode === 'SIGKILL' : exitCode === 0;
    if (!isAsTold) this.faults.push(`a writer ended with ${exitCode ?? signalCode} on ${signal}`);
  }

  #hear(line: string): void {
    this.lines++;
    const [who, seq] = line.split(' ');
    if (who === 'r') this.applied = Number(seq);
    else if (who !== 'open') this.acknowledged[Number(who)] = Number(seq);
  }
}

async function outlivesKills(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'provec-shared-'));
  const writers = Array.from({ length: WRITERS }, () => new Writer());
  try {
    for (const writer of writers) writer.start(folder);
    for (let kill = 0; kill < KILLS; kill++) {
      const writer = writers[kill % WRITERS];
      const lines = 1 + Math.floor(random() * 60);
      await until('a writer has written', () => writer.lines >= lines || writer.faults.length > 0);
      await writer.end(random() < 0.7 ? 'SIGKILL' : 'SIGTERM');
      expect(writer.faults).toEqual([]);
      if (kill < KILLS - WRITERS) writer.start(folder);
    }
    const store = await openSqliteStore(folder);
    for (const { collectionId, acknowledged, applied } of writers) {
      for (const [index, seq] of acknowledged.entries()) {
        const entries = await store.log.read(`${collectionId}.${index}`, 0, Number.MAX_SAFE_INTEGER);
        expect(entries.length).toBeGreaterThanOrEqual(seq);
        expect(entries.every((entry, at) => entry.seq === at + 1)).toBe(true);
        expect(entries.every((entry) => entry.body.every((byte) => byte === entry.seq % 256))).toBe(true);
      }
      const mark = await store.records.appliedSeq(`${collectionId}.0`);
      expect(mark).toBeGreaterThanOrEqual(applied);
      expect((await readAll(await store.records.scan(`${collectionId}.0`))).size).toBe(mark === 0 ? 0 : mark + 1);
    }
    await store.close();
  } finally {
    await Promise.all(writers.map((writer) => writer.end('SIGKILL')));
    rmSync(folder, { recursive: true });
  }
}

test(`nothing acknowledged is missing after ${KILLS} ends, most by SIGKILL, of ${WRITERS} processes that share a folder`, () =>
  invariant('what was acknowledged outlives SIGKILL', outlivesKills));
