import { StoreError } from '../port.ts';

/** Primary result codes of SQLite: https://sqlite.org/rescode.html */
const SQLITE = {
  readOnly: 8,
  busy: 5,
  locked: 6,
  corrupt: 11,
  full: 13,
  protocol: 15,
  tooBig: 18,
  constraint: 19,
  notADatabase: 26,
};
/** The WAL index (`-shm`) could not grow because the disk is full. */
const IO_ERROR_SHM_SIZE = 4874;
const CONSTRAINT_DATATYPE = 3091;
const CONSTRAINT_NOT_NULL = 1299;
/** Begins SQLite's message about a schema that it cannot parse. */
const MALFORMED_SCHEMA = 'malformed database schema';
const PUT_BACK = 'put back a backup of the whole directory, or start with an empty one';
const NO_ROOM = /ENOSPC|EDQUOT|EFBIG/;

/** Returns the extended result code of a node:sqlite error; null for any other error. */
function resultCode(error: unknown): number | null {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === 'ERR_SQLITE_ERROR' && typeof errcode === 'number' ? errcode : null;
}

function isPrimary(error: unknown, ...primary: number[]): boolean {
  const code = resultCode(error);
  return code !== null && primary.includes(code & 0xff);
}

export function isSqliteError(error: unknown): boolean {
  return resultCode(error) !== null;
}

/**
 * Returns whether another connection held a lock. The caller can retry its transaction from the
 * beginning.
 */
export function isBusy(error: unknown): boolean {
  return isPrimary(error, SQLITE.busy, SQLITE.locked, SQLITE.protocol);
}

/** Returns whether the disk was too full for the write. */
export function isDiskFull(error: unknown): boolean {
  return isPrimary(error, SQLITE.full) || resultCode(error) === IO_ERROR_SHM_SIZE;
}

/** Returns whether the file's content is not a valid database. */
export function isCorruption(error: unknown): boolean {
  return isPrimary(error, SQLITE.corrupt, SQLITE.notADatabase);
}

/** Returns whether only one statement failed, and the transaction around it is unchanged. */
export function isStatementError(error: unknown): boolean {
  return isPrimary(error, SQLITE.constraint, SQLITE.corrupt, SQLITE.tooBig);
}

/**
 * Returns whether a row to be changed holds a value of a wrong type. SQLite checks all columns of
 * the row, and its message names the column.
 */
function isTypeMismatch(error: unknown): boolean {
  const code = resultCode(error);
  return code === CONSTRAINT_DATATYPE || code === CONSTRAINT_NOT_NULL;
}

/** Converts an error of SQLite or the file system to a StoreError. */
export function sqliteFailure(error: unknown, doing: string): StoreError {
  if (error instanceof StoreError) return error;
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (isDiskFull(error) || NO_ROOM.test(String(code))) return diskFull(doing, error);
  // node:sqlite throws for integers that a number cannot represent exactly.
  if (code === 'ERR_OUT_OF_RANGE') return damagedValue('A number', error);
  if (isCorruption(error) || isTypeMismatch(error)) {
    const kind = message.startsWith(MALFORMED_SCHEMA) ? 'changed' : 'damaged';
    return new StoreError(kind, `The store is damaged (${doing}): ${message}.`, error);
  }
  if (isBusy(error)) {
    return new StoreError(
      'unavailable',
      `Another process keeps the store's file locked (${doing}): check for a stopped process.`,
      error,
    );
  }
  if (isPrimary(error, SQLITE.readOnly)) {
    const advice = 'give the user who runs Provec the right to write all files in the data directory';
    return new StoreError('unavailable', `The store cannot be written (${doing}): ${advice}.`, error);
  }
  const text = error instanceof Error ? message : String(error);
  return new StoreError('unavailable', `The store failed (${doing}): ${text}.`, error);
}

/** Error for a full disk; nothing of the operation was written. */
export function diskFull(doing: string, cause?: unknown): StoreError {
  return new StoreError('capacity', `The disk of the data directory is full (${doing}).`, cause);
}

/** Error for stored bytes that do not decode. */
export function damagedValue(what: string, cause?: unknown): StoreError {
  return new StoreError(
    'damaged',
    `${what} in the store does not decode: the data directory is damaged; put back a backup of it.`,
    cause,
  );
}

/** Error for files that must not be opened. */
export function damagedFile(name: string, what: string, advice = PUT_BACK): StoreError {
  return new StoreError('damaged', `${name} in the data directory ${what}: ${advice}.`);
}
