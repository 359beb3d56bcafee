/**
 * Checkpoints that are tried once: a file that ends the process when native code reads it is not
 * read again at the next start.
 *
 * Promises: from `fetch` to `release` a mark stands in a folder of this node. A start that finds
 * one sets the checkpoint aside and tells the operator. A store that is closed in order leaves no
 * mark.
 * What it costs: a sound checkpoint that was being read when the process was killed is set aside
 * too.
 * What it does not do: nodes do not know of each other's marks.
 * See docs/internals/sealing.md.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { isShardKey, type ShardKey } from '../shard/key.ts';
import type { CheckpointInfo, CheckpointStore, FetchedCheckpoint, StoredCheckpoints } from './checkpoints.ts';

/** Their folder, in that for checkpoints that a node writes or reads. */
export const MARKS = 'reading';
/** More than any mark has. */
const MARK_MAX_BYTES = 1_024;
const NO_MARK =
  'what lies here is no mark of a checkpoint that was read, and was not written by this service; it is taken away';

interface Mark {
  shard: ShardKey;
  seq: number;
}

export class OnceTriedCheckpoints implements CheckpointStore {
  readonly #stored: StoredCheckpoints;
  readonly #folder: string;
  readonly #marks = new Map<FetchedCheckpoint, string>();

  /** `folder` is for the marks, and this node's alone. */
  constructor(stored: StoredCheckpoints, folder: string) {
    this.#stored = stored;
    this.#folder = folder;
  }

  /**
   * Sets aside what this node's process before was reading when it ended. Throws StoreError or an
   * error of the file system.
   */
  async open(log?: Pick<Logger, 'error'>): Promise<void> {
    await this.#makeFolder(log);
    for (const name of await readdir(this.#folder)) {
      const file = join(this.#folder, name);
      const mark = await markIn(file);
      if (mark === 'none') log?.error({ file }, NO_MARK);
      else if (mark !== 'cut short') {
        log?.error(mark, 'the process ended while it read this checkpoint, which is set aside');
        await this.#stored.setAside(mark.shard, mark.seq);
      }
      await rm(file, { recursive: true, force: true });
    }
  }

  /** What is taken out of it must not lie elsewhere: a link in its place is no folder. */
  async #makeFolder(log?: Pick<Logger, 'error'>): Promise<void> {
    const found = await lstat(this.#folder).catch(() => null);
    if (found !== null && !found.isDirectory()) {
      log?.error({ file: this.#folder }, NO_MARK);
      await rm(this.#folder, { force: true });
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
  }

  /** Whatever is still read was not what ended the process. */
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

  stage(shard: ShardKey): Promise<string> {
    return this.#stored.stage(shard);
  }

  discard(stagedFolder: string): Promise<void> {
    return this.#stored.discard(stagedFolder);
  }

  put(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo> {
    return this.#stored.put(shard, seq, stagedFolder);
  }

  prune(shard: ShardKey, seq: number): Promise<void> {
    return this.#stored.prune(shard, seq);
  }

  list(shard: ShardKey): Promise<CheckpointInfo[]> {
    return this.#stored.list(shard);
  }
}

/**
 * Moves the marks of a process that has ended, from its folder for checkpoints to a folder of marks
 * that was not opened yet. Any number of processes may do so at once: each mark goes to one of
 * them, under a name that nothing has there. Nothing is taken through a link.
 */
export async function moveMarks(from: string, to: string): Promise<void> {
  const marks = join(from, MARKS);
  for (const folder of [from, marks]) if (!(await lstat(folder).catch(() => null))?.isDirectory()) return;
  for (const name of await readdir(marks).catch(unlessAbsent<string[]>([])))
    await rename(join(marks, name), join(to, randomUUID())).catch(unlessAbsent<void>(undefined));
}

/** What another process was faster with. */
function unlessAbsent<T>(instead: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return instead;
    throw error;
  };
}

/**
 * What a file of the folder says; 'cut short' where it was not written to its end: nothing was read
 * yet. What it names becomes a part of paths, so that it is believed only where it is as `fetch`
 * writes it.
 */
async function markIn(file: string): Promise<Mark | 'cut short' | 'none'> {
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
  return isShardKey(shard) && Number.isSafeInteger(seq) && seq! >= 0 ? { shard, seq: seq! } : 'none';
}
