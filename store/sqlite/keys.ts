import type { StoredKeys } from '../keys.ts';
import { inSlices } from './pages.ts';
import type { StoreThread } from './store-thread.ts';

/** Rows that one request to the thread counts; the first time in six milliseconds. */
const COUNTED_ROWS = 1_000;

/** API keys, called from the main thread. */
export function keysOf(thread: StoreThread): StoredKeys {
  const { countSlice, page } = thread.remote('keys');
  const own: Pick<StoredKeys, 'count' | 'page'> = {
    async count(accountId) {
      let slice = await countSlice(accountId, null, COUNTED_ROWS);
      let { count } = slice;
      while (slice.after !== null) {
        slice = await countSlice(accountId, slice.after, COUNTED_ROWS);
        count += slice.count;
      }
      return count;
    },

    page: (accountId, after, limit) => inSlices((from, rows) => page(accountId, from, rows), after, limit),
  };
  return thread.remote('keys', own);
}
