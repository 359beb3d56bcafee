import type { MacPayload } from '../lib/secret/seals.ts';
import type { ShardKey } from '../lib/shard/key.ts';

/** A checkpoint is a folder of files that hold a shard's state at `seq`. */
export interface CheckpointInfo {
  seq: number;
  bytes: number;
  /** ISO 8601 UTC, for display only. */
  createdAt: string;
}

/** A file of a checkpoint; `sha256` in hex. */
export interface CheckpointFile {
  name: string;
  bytes: number;
  sha256: string;
}

/** A checkpoint on this machine's disk, with the sealed name, size and hash of each file. */
export interface FetchedCheckpoint {
  folder: string;
  files: CheckpointFile[];
}

export interface CheckpointStore {
  /**
   * Creates an empty folder for a checkpoint's files. The next start removes it if it was neither
   * put nor discarded.
   */
  stage(shard: ShardKey): Promise<string>;
  /** Removes a staged folder and its content; does nothing if it was already put or discarded. */
  discard(stagedFolder: string): Promise<void>;
  /**
   * Turns the staged folder into the checkpoint at `seq`, atomically and durably, under a seal over
   * the SHA-256 of every file; discards the folder if that fails. Keeps the newest two checkpoints.
   */
  put(shard: ShardKey, seq: number, stagedFolder: string): Promise<CheckpointInfo>;
  /**
   * Removes the checkpoints before `seq`, and all damaged ones except the newest, which is kept for
   * diagnosis. Idempotent.
   */
  prune(shard: ShardKey, seq: number): Promise<void>;
  /** Returns the checkpoints, newest first. */
  list(shard: ShardKey): Promise<CheckpointInfo[]>;
  /**
   * Returns the checkpoint on a local disk after verifying its seal and every SHA-256. Returns null
   * if it is absent or damaged; a damaged one is set aside and never returned again.
   */
  fetch(shard: ShardKey, seq: number): Promise<FetchedCheckpoint | null>;
  /**
   * Ends the use of a fetched checkpoint, so its local copy can be removed. Idempotent. If the
   * process dies before the release, its next start sets the checkpoint aside.
   */
  release(fetched: FetchedCheckpoint): Promise<void>;
}

export interface StoredCheckpoints extends CheckpointStore {
  /** Excludes the checkpoint from `list` and `fetch` permanently. Does nothing if there is none. */
  setAside(shard: ShardKey, seq: number): Promise<void>;
}

/** Log message when a checkpoint is set aside. */
export const UNSOUND_CHECKPOINT =
  'a checkpoint is damaged, or was not written by this service, and is set aside; the shard opens from an older one or from its records';

/** Returns what the seal of a checkpoint covers: its shard, and every file with its SHA-256. */
export function payloadOfCheckpoint(
  shard: ShardKey,
  { seq, bytes, createdAt }: CheckpointInfo,
  files: readonly CheckpointFile[],
): MacPayload {
  return ['checkpoint', shard, seq, bytes, createdAt, files.map((file) => [file.name, file.bytes, file.sha256])];
}
