import type { Said } from '../secret/seals.ts';
import type { ShardKey } from '../shard/key.ts';
import type { CheckpointFile, CheckpointInfo } from './checkpoints.ts';

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
