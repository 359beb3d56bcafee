/**
 * Converts driver errors to StoreErrors. A call that failed before it was sent has no effect
 * ('unavailable'). A write that failed later, or whose write concern was not met, may have one
 * ('unknown'). The driver retries nothing, so each error is that of a single attempt.
 */
import {
  MongoBulkWriteError,
  MongoClientClosedError,
  MongoError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { StoreError } from '../port.ts';

export type Effect = 'read' | 'write';

const DUPLICATE_KEY = 11_000;
/** Codes of calls refused before execution: not the primary, or not allowed. */
const REFUSED = new Set([10_107, 13_435, 10_058, 13, 18]);
/**
 * OutOfDiskSpace, as reported by servers that survive a full disk; some only report it in the
 * message.
 */
const FULL = new Set([14_031]);
/**
 * Codes for changing a field that holds a value of another type: TypeMismatch, PathNotViable,
 * InvalidIdField, and the one of $addToSet.
 */
const TYPE_CONFLICTS = new Set([14, 28, 53, 10_141]);
const FULL_WORDS = /no space left|out of disk space|disk quota|storage (limit|quota)|ENOSPC|EDQUOT|EFBIG/i;
/** Pool errors that occur before anything is sent; the driver exports no classes for them. */
const NOT_SENT = new Set(['MongoPoolClosedError', 'MongoPoolClearedError', 'MongoWaitQueueTimeoutError']);

/**
 * Converts an error of the driver or of the local disk to a StoreError; returns the caller's own
 * errors (RangeError and the like) unchanged.
 */
export function mongoFailure(error: unknown, effect: Effect, doing: string): unknown {
  if (error instanceof StoreError) return error;
  if (error instanceof MongoServerError && TYPE_CONFLICTS.has(Number(error.code)))
    return damagedDocument(`What was read or changed (${doing})`);
  if (error instanceof MongoError) return new StoreError(kindOf(error, effect), describeFailure(error, doing), error);
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  if (typeof code !== 'string' || syscall === undefined) return error;
  const full = FULL_WORDS.test(code);
  return new StoreError(full ? 'capacity' : 'unavailable', `The local disk failed (${doing}): ${code}.`, error);
}

/** Returns whether a write failed only because of unique indexes. */
export function isDuplicateKey(error: unknown): boolean {
  if (!(error instanceof MongoServerError)) return false;
  if (!(error instanceof MongoBulkWriteError)) return error.code === DUPLICATE_KEY;
  const errors = [error.writeErrors].flat();
  const others = errors.some(({ code }) => code !== DUPLICATE_KEY);
  return errors.length > 0 && !others && error.result.getWriteConcernError() === undefined;
}

/** Returns the result of a write; null if a unique index prevented it. */
export async function nullOnDuplicate<T>(write: Promise<T>): Promise<T | null> {
  try {
    return await write;
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
}

/** Error for stored documents that Provec did not write this way. */
export function damagedDocument(what: string): StoreError {
  return new StoreError('damaged', `${what} in the database does not have the form that Provec writes.`);
}

function kindOf(error: MongoError, effect: Effect): StoreError['kind'] {
  if (isFull(error)) return 'capacity';
  return effect === 'read' || isBeforeEffect(error) ? 'unavailable' : 'unknown';
}

function isFull(error: MongoError): boolean {
  if (!(error instanceof MongoServerError) || error instanceof MongoWriteConcernError) return false;
  return FULL.has(Number(error.code)) || FULL_WORDS.test(error.message);
}

function isBeforeEffect(error: MongoError): boolean {
  if (error instanceof MongoServerSelectionError || NOT_SENT.has(error.name)) return true;
  if (error instanceof MongoNotConnectedError || error instanceof MongoClientClosedError) return true;
  if (error instanceof MongoTopologyClosedError) return true;
  if (error instanceof MongoNetworkError) return 'beforeHandshake' in error && error.beforeHandshake === true;
  return (
    error instanceof MongoServerError && !(error instanceof MongoWriteConcernError) && REFUSED.has(Number(error.code))
  );
}

function describeFailure(error: MongoError, doing: string): string {
  const code = error.code === undefined ? '' : ` ${error.code}`;
  // Server messages can contain values of documents.
  const what = error instanceof MongoServerError ? `${error.codeName ?? error.name}${code}` : error.message;
  return `The database failed (${doing}): ${what}.`;
}
