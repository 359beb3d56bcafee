import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GridFSBucket, MongoRuntimeError, type ObjectId } from 'mongodb';
import type { Connection } from './connection.ts';

const BUCKET = 'checkpoint-files';
const CHUNK_BYTES = 1024 * 1024;

/** One file of a checkpoint. `file` is its id in GridFS. */
export interface StoredFile {
  name: string;
  bytes: number;
  sha256: string;
  file: ObjectId;
}

/**
 * Files in GridFS, under ids of their own; the name that their writer gave them stands in the
 * manifest.
 */
export class CheckpointFiles {
  readonly #bucket: GridFSBucket;

  constructor(connection: Connection) {
    this.#bucket = new GridFSBucket(connection.db, { bucketName: BUCKET, chunkSizeBytes: CHUNK_BYTES });
  }

  /** Stores a file of a folder under the id `file`. */
  async upload(folder: string, name: string, file: ObjectId): Promise<StoredFile> {
    const digest = digesting();
    const upload = this.#bucket.openUploadStreamWithId(file, file.toHexString());
    const source = createReadStream(join(folder, name), { highWaterMark: CHUNK_BYTES });
    await pipeline(source, digest.stream, upload);
    return { name, file, ...digest.result() };
  }

  /** Writes the file into a folder; false when what is stored is not what its manifest says. */
  async download({ name, bytes, sha256, file }: StoredFile, folder: string): Promise<boolean> {
    const digest = digesting();
    try {
      const target = createWriteStream(join(folder, name), { flags: 'wx', mode: 0o600 });
      await pipeline(this.#bucket.openDownloadStream(file), digest.stream, target);
    } catch (error) {
      // Chunks or the whole file are missing, or have another length.
      if (error instanceof MongoRuntimeError) return false;
      throw error;
    }
    const found = digest.result();
    return found.bytes === bytes && found.sha256 === sha256;
  }

  /** Also chunks of an upload that was cut short. Nothing happens when it is gone. */
  async remove(file: ObjectId): Promise<void> {
    try {
      await this.#bucket.delete(file);
    } catch (error) {
      // It says so when there was no file; what chunks there were are gone all the same.
      if (!(error instanceof MongoRuntimeError)) throw error;
    }
  }
}

function digesting() {
  const sha256 = createHash('sha256');
  let bytes = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      sha256.update(chunk);
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  return { stream, result: () => ({ bytes, sha256: sha256.digest('hex') }) };
}
