import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Mutex } from 'async-mutex';
import type { StoredFirstKey } from '../first-key.ts';
import { UUID } from './checkpoints.ts';
import { readFormatFile, writeFirstKey } from './format-file.ts';
import { sqliteFailure } from './store-failure.ts';
import type { StoreThread } from './store-thread.ts';

/** The mark is part of the format file. Checkpoints also count as signs of earlier use. */
export function firstKeyOf(folder: string, threads: readonly StoreThread[]): StoredFirstKey {
  const guarded = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw sqliteFailure(error, 'marking the store');
    });
  // Writes of this process; another process could write between the check and the replacement.
  const turns = new Mutex();
  const hasCheckpoints = async () => (await readdir(join(folder, 'checkpoints'))).some((name) => UUID.test(name));
  return {
    read: async () => (await guarded(readFormatFile(folder)))?.firstKey,
    write: (mark) => guarded(turns.runExclusive(() => writeFirstKey(folder, mark))),
    replace: (before, mark) =>
      guarded(
        turns.runExclusive(async () => {
          if (sealOf((await readFormatFile(folder))?.firstKey) === before) await writeFirstKey(folder, mark);
        }),
      ),
    async isUsed(besides) {
      for (const thread of threads) if (await thread.remote('traces').isUsed(besides)) return true;
      return guarded(hasCheckpoints());
    },
  };
}

/** Returns the seal of a stored mark; null if there is no mark, undefined if it has no seal. */
const sealOf = (mark: unknown): unknown => ((mark ?? null) === null ? null : (mark as { seal?: unknown }).seal);
