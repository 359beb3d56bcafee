import { StoreError } from '../port.ts';

/** MDB_BAD_TXN and MDB_PANIC say that an earlier step failed, not why. */
const FULL = /ENOSPC|EDQUOT|EFBIG|No space left|Disk quota|File too large|MDB_MAP_FULL|mapsize limit/i;
const DAMAGED = /MDB_CORRUPTED|MDB_PAGE_NOTFOUND|MDB_INVALID|MDB_VERSION_MISMATCH|not an LMDB file/i;

/** What went wrong in LMDB or the file system, in the port's terms. */
export function storeFailure(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const text =
    error instanceof Error ? `${(error as NodeJS.ErrnoException).code ?? ''} ${error.message}` : String(error);
  if (FULL.test(text)) return new StoreError('capacity', `The disk of the data directory is full (${doing}).`, error);
  if (DAMAGED.test(text)) return new StoreError('damaged', `The store is damaged (${doing}): ${text.trim()}.`, error);
  return new StoreError('unavailable', `The store failed (${doing}): ${text.trim()}.`, error);
}

/** For stored bytes that do not decode. */
export function damaged(what: string, cause?: unknown): StoreError {
  return new StoreError('damaged', `${what} in the store does not decode: the data directory is damaged.`, cause);
}
