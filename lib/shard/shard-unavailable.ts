import { isProvecError, ProvecError } from '../errors.ts';

/** Why a shard is unavailable now. */
export type UnavailableReason =
  | 'has no holder yet'
  | 'is being opened'
  | 'is being closed'
  | 'is held by a node that does not answer';

const COLLECTION = 'the collection';

/** Builds a SHARD_UNAVAILABLE error for shard `index`, which did no part of the request. */
export function shardUnavailableError(index: number, why: UnavailableReason): ProvecError {
  const message = `Shard ${index} of ${COLLECTION} ${why}; try again.`;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds: 1, shards: [index] });
}

export function isShardUnavailable(error: unknown): error is ProvecError {
  return isProvecError(error) && error.code === 'SHARD_UNAVAILABLE';
}

/** Removes the shard's index from a `shardUnavailableError`, so that callers do not wait. */
export function withoutShardIndexes(error: unknown): unknown {
  if (!isShardUnavailable(error)) return error;
  const { message, retryAfterSeconds } = error;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds });
}

/** Adds the collection's name to a `shardUnavailableError`; returns others unchanged. */
export function withCollectionName(error: unknown, name: string): unknown {
  if (!isShardUnavailable(error)) return error;
  const { message, retryAfterSeconds, shards } = error;
  return new ProvecError(
    'SHARD_UNAVAILABLE',
    message.replace(COLLECTION, () => name),
    { retryAfterSeconds, shards },
  );
}
