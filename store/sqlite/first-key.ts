import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
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
  const hasCheckpoints = async () => (await readdir(join(folder, 'checkpoints'))).some((name) => UUID.test(name));
  return {
    read: async () => (await guarded(readFormatFile(folder)))?.firstKey,
    write: (mark) => guarded(writeFirstKey(folder, mark)),
    async isUsed(besides) {
      for (const thread of threads) if (await thread.remote('traces').isUsed(besides)) return true;
      return guarded(hasCheckpoints());
    },
  };
}
