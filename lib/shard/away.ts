import { isProvecError, ProvecError } from '../errors.ts';

/** Why a shard cannot be asked now. */
export type AwayReason =
  | 'has no holder yet'
  | 'is being opened'
  | 'is being closed'
  | 'is held by a node that does not answer';

const COLLECTION = 'the collection';

/**
 * SHARD_UNAVAILABLE: nothing was or will be done of the request in shard `index`, which can be
 * asked later.
 */
export function shardAway(index: number, why: AwayReason): ProvecError {
  const message = `Shard ${index} of ${COLLECTION} ${why}; try again.`;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds: 1, shards: [index] });
}

export function isShardAway(error: unknown): error is ProvecError {
  return isProvecError(error) && error.code === 'SHARD_UNAVAILABLE';
}

/** An error of `shardAway` without the shard, so that nobody waits for it; any other as it is. */
export function withoutShards(error: unknown): unknown {
  if (!isShardAway(error)) return error;
  const { message, retryAfterSeconds } = error;
  return new ProvecError('SHARD_UNAVAILABLE', message, { retryAfterSeconds });
}

/** An error of `shardAway` that says which collection it is about; any other error as it is. */
export function withCollection(error: unknown, name: string): unknown {
  if (!isShardAway(error)) return error;
  const { message, retryAfterSeconds, shards } = error;
  return new ProvecError(
    'SHARD_UNAVAILABLE',
    message.replace(COLLECTION, () => name),
    { retryAfterSeconds, shards },
  );
}
