import { LIMITS } from '../limits.ts';

/**
 * Names one shard of one collection: `<collection uuid>.<index>`; the index is the shard's keyHash
 * prefix read as an integer.
 */
export type ShardKey = string;

const SHARD_KEY = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(0|[1-9]\d{0,2})$/;

export function shardKey(collectionId: string, index: number): ShardKey {
  return `${collectionId}.${index}`;
}

/** The parts of a shard key. */
export function parseShardKey(key: ShardKey): { collectionId: string; index: number } {
  const dot = key.lastIndexOf('.');
  return { collectionId: key.slice(0, dot), index: Number(key.slice(dot + 1)) };
}

/** Whether it can be the key of a shard: for what others may have written. */
export function isShardKey(value: unknown): value is ShardKey {
  if (typeof value !== 'string') return false;
  const [, index] = SHARD_KEY.exec(value) ?? [];
  return index !== undefined && Number(index) < LIMITS.shardsMax;
}
