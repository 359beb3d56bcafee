import { isProvecError, ProvecError } from '../errors.ts';

/** Why a shard is unavailable now. */
export type AwayReason =
  | 'has no holder yet'
  | 'is being opened'
  | 'is being closed'
  | 'is held by a node that does not answer';

const COLLECTION = 'the collection';

/** Builds a SHARD_UNAVAILABLE error for shard `index`, which did nothing of the request. */
export function shardAway(index: number, why: AwayReason): ProvecError {
  const message = `Shard ${index} of ${COLLECTION} ${why}; try again.`;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds: 1, shards: [index] });
}

export function isShardAway(error: unknown): error is ProvecError {
  return isProvecError(error) && error.code === 'SHARD_UNAVAILABLE';
}

/** Removes the shard's index from a `shardUnavailableError`, so that callers do not wait. */
export function withoutShards(error: unknown): unknown {
  if (!isShardAway(error)) return error;
  const { message, retryAfterSeconds } = error;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds });
}

/** Adds the collection's name to a `shardUnavailableError`; returns others unchanged. */
export function withCollection(error: unknown, name: string): unknown {
  if (!isShardAway(error)) return error;
  const { message, retryAfterSeconds, shards } = error;
  return new ProvecError(
    'SHARD_UNAVAILABLE',
    message.replace(COLLECTION, () => name),
    { retryAfterSeconds, shards },
  );
}
