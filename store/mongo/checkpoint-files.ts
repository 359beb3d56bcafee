import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { GridFSBucket, MongoRuntimeError, type ObjectId } from 'mongodb';
import type { CheckpointFile } from '../checkpoints.ts';
import type { Connection } from './connection.ts';

const BUCKET = 'checkpoint-files';
const CHUNK_BYTES = 1024 * 1024;

/** A file of a checkpoint. `file` is its id in GridFS. */
export interface StoredFile extends CheckpointFile {
  file: ObjectId;
}

/** Files in GridFS under generated ids; the manifest holds their names. */
export class CheckpointFiles {
  readonly #bucket: GridFSBucket;

  constructor(connection: Connection) {
    this.#bucket = new GridFSBucket(connection.db, { bucketName: BUCKET, chunkSizeBytes: CHUNK_BYTES });
  }

  async upload(folder: string, name: string, file: ObjectId): Promise<StoredFile> {
    const digest = digesting();
    const upload = this.#bucket.openUploadStreamWithId(file, file.toHexString());
    const source = createReadStream(join(folder, name), { highWaterMark: CHUNK_BYTES });
    await pipeline(source, digest.stream, upload);
    return { name, file, ...digest.result() };
  }

  /** Writes the file into a folder; returns false if the stored bytes do not match the manifest. */
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

  /** Removes the file, including chunks of an interrupted upload. Does nothing if it is gone. */
  async remove(file: ObjectId): Promise<void> {
    try {
      await this.#bucket.delete(file);
    } catch (error) {
      // GridFS throws if there was no file, but has removed any chunks by then.
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
