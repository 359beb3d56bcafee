import type { Said } from '../secret/seals.ts';
import type { ShardKey } from '../shard/key.ts';

/** A checkpoint is a folder of files that describe a shard at `seq`. */
export interface CheckpointInfo {
  seq: number;
  bytes: number;
  /** ISO 8601 UTC, for people only. */
  createdAt: string;
}

/** A file of a checkpoint; the SHA-256 in hex. */
export interface CheckpointFile {
  name: string;
  bytes: number;
  sha256: string;
}

/**
 * A checkpoint as it lies on this machine's disk, and what its writer said of each file under the
 * store's seal.
 */
export interface FetchedCheckpoint {
  folder: string;
  files: CheckpointFile[];
}

export interface CheckpointStore {
  /**
   * A fresh empty folder to write a checkpoint's files into; removed at the next start if it was
   * neither put nor discarded.
   */
  stage(shard: ShardKey): Promise<string>;
  /**
   * Removes a staged folder with what is in it; nothing happens when it was put or discarded
   * before.
   */
  discard(stagedFolder: string): Promise<void>;
  /**
   * Takes over the staged folder as the checkpoint at `seq` under a seal over the SHA-256 of every
   * file, durable and all at once, or discards it; keeps the newest two.
   */
  put(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo>;
  /**
   * Removes the checkpoints before `seq`. Of those that were set aside as unsound the newest stays,
   * for whoever wants to know why. Idempotent.
   */
  prune(shard: ShardKey, seq: number): Promise<void>;
  /** Newest first. */
  list(shard: ShardKey): Promise<CheckpointInfo[]>;
  /**
   * The checkpoint on a local disk, its seal and every SHA-256 checked; null when absent or unsound
   * (an unsound one is set aside and never offered again).
   */
  fetch(shard: ShardKey, seq: number): Promise<FetchedCheckpoint | null>;
  /**
   * What was fetched has been read, and need not be kept here. Idempotent. Of what was not released
   * the process died: at its next start that is set aside.
   */
  release(fetched: FetchedCheckpoint): Promise<void>;
}

/** What an adapter keeps. */
export interface StoredCheckpoints extends CheckpointStore {
  /** Never offers it again. Nothing happens when there is none. */
  setAside(shard: ShardKey, seq: number): Promise<void>;
}

/** What the operator is told of one that is set aside. */
export const UNSOUND_CHECKPOINT =
  'a checkpoint is damaged, or was not written by this service, and is set aside; the shard opens from an older one or from its records';

/** What is sealed of a checkpoint: whose it is, and every file with its SHA-256. */
export function saidOfCheckpoint(
  shard: ShardKey,
  { seq, bytes, createdAt }: CheckpointInfo,
  files: readonly CheckpointFile[],
): Said {
  return ['checkpoint', shard, seq, bytes, createdAt, files.map((file) => [file.name, file.bytes, file.sha256])];
}
