/**
 * Tries each checkpoint once: if native code crashes the process while it reads a file, the next
 * start does not read that file again.
 *
 * Guarantees: from `fetch` to `release` this node keeps a mark file. A start that finds one sets
 * that checkpoint aside and logs it. An orderly close leaves no marks. Cost: a sound checkpoint is
 * also set aside if the process was killed while it read it. Limits: nodes do not see each other's
 * marks. See docs/internals/sealing.md.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { ifMissing } from '../lib/host/system-error.ts';
import { isShardKey, type ShardKey } from '../lib/shard/key.ts';
import type { CheckpointStore, FetchedCheckpoint, StoredCheckpoints } from './checkpoints.ts';

/** Name of the marks folder within a node's checkpoint folder. */
export const MARKS_FOLDER = 'reading';
const MARK_MAX_BYTES = 1_024;
const NO_MARK = 'this file is not a checkpoint mark that this service wrote; it is removed';

interface Mark {
  shard: ShardKey;
  seq: number;
}

export class CrashGuardedCheckpoints implements CheckpointStore {
  readonly #stored: StoredCheckpoints;
  readonly #folder: string;
  readonly #marks = new Map<FetchedCheckpoint, string>();

  /** `folder` is for marks only, and for this node only. */
  constructor(stored: StoredCheckpoints, folder: string) {
    this.#stored = stored;
    this.#folder = folder;
  }

  /**
   * Sets aside the checkpoints that this node's previous process was reading when it ended. Throws
   * StoreError or a file system error.
   */
  async open(log?: Pick<Logger, 'error'>): Promise<void> {
    await this.#makeFolder(log);
    for (const name of await readdir(this.#folder)) {
      const file = join(this.#folder, name);
      const mark = await readMark(file);
      if (mark === 'none') log?.error({ file }, NO_MARK);
      else if (mark !== 'cut short') {
        log?.error(mark, 'the process ended while it read this checkpoint, which is set aside');
        await this.#stored.setAside(mark.shard, mark.seq);
      }
      await rm(file, { recursive: true, force: true });
    }
  }

  /**
   * Replaces a symbolic link or file with a real folder, so that marks are never read or removed
   * elsewhere.
   */
  async #makeFolder(log?: Pick<Logger, 'error'>): Promise<void> {
    // If this fails, `mkdir` does, too, and reports why.
    const found = await lstat(this.#folder).catch(() => null);
    if (found !== null && !found.isDirectory()) {
      log?.error({ file: this.#folder }, NO_MARK);
      await rm(this.#folder, { force: true });
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Removes the marks of checkpoints still in use: they did not end the process. */
  async close(): Promise<void> {
    await Promise.all([...this.#marks.values()].map((file) => rm(file, { force: true })));
  }

  async fetch(shard: ShardKey, seq: number): Promise<FetchedCheckpoint | null> {
    const fetched = await this.#stored.fetch(shard, seq);
    if (fetched === null) return null;
    const file = join(this.#folder, randomUUID());
    this.#marks.set(fetched, file);
    await writeFile(file, JSON.stringify({ shard, seq } satisfies Mark), { mode: 0o600 });
    return fetched;
  }

  async release(fetched: FetchedCheckpoint): Promise<void> {
    const file = this.#marks.get(fetched);
    if (file !== undefined) await rm(file, { force: true });
    this.#marks.delete(fetched);
    await this.#stored.release(fetched);
  }

  readonly stage: CheckpointStore['stage'] = (shard) => this.#stored.stage(shard);
  readonly discard: CheckpointStore['discard'] = (stagedFolder) => this.#stored.discard(stagedFolder);
  readonly put: CheckpointStore['put'] = (shard, seq, stagedFolder) => this.#stored.put(shard, seq, stagedFolder);
  readonly prune: CheckpointStore['prune'] = (shard, seq) => this.#stored.prune(shard, seq);
  readonly list: CheckpointStore['list'] = (shard) => this.#stored.list(shard);
}

/**
 * Moves the marks of a dead process from its checkpoint folder to a marks folder that is not open
 * yet. Processes may do so concurrently: each mark goes to one of them, under a new name. Symbolic
 * links are not followed.
 */
export async function moveMarks(from: string, to: string): Promise<void> {
  const marks = join(from, MARKS_FOLDER);
  for (const folder of [from, marks]) if (!(await lstat(folder).catch(ifMissing(null)))?.isDirectory()) return;
  for (const name of await readdir(marks).catch(ifMissing<string[]>([])))
    await rename(join(marks, name), join(to, randomUUID())).catch(ifMissing<void>(undefined));
}

/**
 * Reads a mark file. Returns 'cut short' if it is incomplete; its checkpoint was then not read yet.
 * Its content becomes part of file paths, so anything but what `fetch` writes is 'none'.
 */
async function readMark(file: string): Promise<Mark | 'cut short' | 'none'> {
  const found = await lstat(file);
  if (!found.isFile() || found.size > MARK_MAX_BYTES) return 'none';
  let mark: Partial<Mark> | null;
  try {
    mark = JSON.parse(await readFile(file, 'utf8')) as Partial<Mark> | null;
  } catch (error) {
    if (error instanceof SyntaxError) return 'cut short';
    throw error;
  }
  const { shard, seq } = mark ?? {};
  const isSeq = typeof seq === 'number' && Number.isSafeInteger(seq) && seq >= 0;
  return isShardKey(shard) && isSeq ? { shard, seq } : 'none';
}
