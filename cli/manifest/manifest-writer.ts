import { createHash, type Hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { LeafTable } from '../../client/verify/leaf-table.ts';
import {
  endLine,
  headLine,
  type ManifestEnd,
  ManifestError,
  type ManifestHead,
  type ManifestRecord,
  recordIn,
  recordLine,
  signatureLine,
} from './manifest-lines.ts';
import type { SigningKey } from './signing-key.ts';

/** Number of bytes to read at once from an unfinished manifest. */
const READ_BYTES = 1024 * 1024;

/**
 * A manifest that is being written. It lies beside its path until it is signed, so that an import
 * that was interrupted can continue it.
 */
export class ManifestWriter {
  readonly leaves = new LeafTable();
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #digest: Hash = createHash('sha256');
  #bytes = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Begins a manifest. Replaces an unfinished one, never a finished one. */
  static async begin(path: string, head: ManifestHead): Promise<ManifestWriter> {
    const writer = new ManifestWriter(path, await open(partPath(path), 'w'));
    await writer.#write(headLine(head));
    return writer;
  }

  /** Continues a manifest of which an interrupted import kept the first `bytes`. */
  static async resume(path: string, bytes: number): Promise<ManifestWriter> {
    const file = await open(partPath(path), 'r+').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new InputError(`${partPath(path)} is gone, which the checkpoint belongs to. Remove both to begin anew.`);
    });
    const writer = new ManifestWriter(path, file);
    try {
      await writer.#read(bytes);
      await file.truncate(bytes);
    } catch (error) {
      await file.close();
      throw error;
    }
    return writer;
  }

  /** Throws an InputError if there is a finished manifest. */
  static assertFree(path: string): void {
    if (existsSync(path)) throw new InputError(`${path} exists. Remove it, or give another file with --manifest.`);
  }

  /** Adds records of which `leaves` already has the hashes. They are on disk after `sync`. */
  add(records: readonly ManifestRecord[]): Promise<void> {
    return this.#write(records.map(recordLine).join(''));
  }

  /** Writes to disk what was added. Returns the number of bytes, for `resume`. */
  async sync(): Promise<number> {
    await this.#file.datasync();
    return this.#bytes;
  }

  /** Signs the manifest and puts it at its path. */
  async finish(end: ManifestEnd, key: SigningKey): Promise<void> {
    await this.#write(endLine(end));
    await this.#append(Buffer.from(signatureLine(key.signatureOf(this.#digest.digest()))));
    await this.#file.sync();
    await rename(partPath(this.#path), this.#path);
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    this.#digest.update(bytes);
    await this.#append(bytes);
  }

  async #append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  /** Reads the first bytes of the file: whole lines, of which the first is the head. */
  async #read(wholeBytes: number): Promise<void> {
    let open = '';
    let number = 0;
    const decoder = new TextDecoder();
    while (this.#bytes < wholeBytes) {
      const buffer = Buffer.alloc(Math.min(READ_BYTES, wholeBytes - this.#bytes));
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.#bytes);
      if (bytesRead === 0) throw new InputError(`${partPath(this.#path)} is shorter than its checkpoint says.`);
      const read = buffer.subarray(0, bytesRead);
      this.#digest.update(read);
      this.#bytes += bytesRead;
      const lines = (open + decoder.decode(read, { stream: true })).split('\n');
      open = lines.pop() ?? '';
      for (const line of lines) if (++number > 1) this.#readRecord(line, number);
    }
  }

  #readRecord(line: string, number: number): void {
    try {
      const { key, leaf } = recordIn(line, `line ${number}`);
      this.leaves.add(key, leaf);
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      throw new InputError(`${partPath(this.#path)}: ${error.message} Remove it and the checkpoint to begin anew.`);
    }
  }
}

/** Returns where the manifest lies until it is signed. */
export const partPath = (path: string): string => `${path}.part`;
