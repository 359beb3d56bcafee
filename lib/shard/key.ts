import type { CollectionId, IdOf } from '../ids.ts';
import { LIMITS } from '../limits.ts';

/** `<collection uuid>.<index>`. The index is the shard's keyHash prefix as an integer. */
export type ShardKey = IdOf<'shard'>;

const SHARD_KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(0|[1-9]\d{0,2})$/;

export function shardKey(collectionId: CollectionId, index: number): ShardKey {
  return `${collectionId}.${index}`;
}

export function parseShardKey(key: ShardKey): { collectionId: CollectionId; index: number } {
  const dot = key.lastIndexOf('.');
  return { collectionId: key.slice(0, dot), index: Number(key.slice(dot + 1)) };
}

/** Whether a value from outside can be the key of a shard. */
export function isShardKey(value: unknown): value is ShardKey {
  if (typeof value !== 'string') return false;
  const [, index] = SHARD_KEY.exec(value) ?? [];
  return index !== undefined && Number(index) < LIMITS.shardsMax;
}
