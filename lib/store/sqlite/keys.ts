import type { StoredKeys } from '../keys.ts';
import type { StoreThread } from './store-thread.ts';

/** Rows that one request to the thread reads and verifies. */
const SLICE_ROWS = 128;

/** The API keys, as the main thread sees them. */
export function keysOf(thread: StoreThread): StoredKeys {
  const { countSlice } = thread.remote('keys');
  const own: Pick<StoredKeys, 'count'> = {
    async count(accountId) {
      let slice = await countSlice(accountId, null, SLICE_ROWS);
      let { count } = slice;
      while (slice.after !== null) {
        slice = await countSlice(accountId, slice.after, SLICE_ROWS);
        count += slice.count;
      }
      return count;
    },
  };
  return thread.remote('keys', own);
}
