import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rename, rm, stat } from 'node:fs/promises';

/** Writes a file so that its path always has the old content or the whole new one. */
export async function replaceFile(path: string, text: string, mode?: number): Promise<void> {
  const file = await ReplacedFile.open(path, mode);
  try {
    await file.write(text);
    await file.commit();
  } finally {
    await file.end();
  }
}

/**
 * A file that appears at its path when it is complete. What is not a regular file, such as
 * /dev/stdout or a named pipe, is written directly.
 */
export class ReplacedFile {
  readonly #path: string;
  /** Path of the unfinished file; null if the path is written directly. */
  readonly #partPath: string | null;
  readonly #handle: FileHandle;

  private constructor(path: string, partPath: string | null, handle: FileHandle) {
    this.#path = path;
    this.#partPath = partPath;
    this.#handle = handle;
  }

  static async open(path: string, mode = 0o666): Promise<ReplacedFile> {
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    const isDirect = found !== null && !found.isFile();
    if (isDirect) return new ReplacedFile(path, null, await open(path, 'w'));
    const partPath = `${path}.${randomUUID().slice(0, 8)}.part`;
    return new ReplacedFile(path, partPath, await open(partPath, 'wx', mode));
  }

  async write(content: string | Uint8Array): Promise<void> {
    await this.#handle.writeFile(content);
  }

  /** Puts the file at its path. */
  async commit(): Promise<void> {
    if (this.#partPath === null) return;
    await this.#handle.sync();
    await rename(this.#partPath, this.#path);
  }

  /** Closes the file. Removes it unless it was committed. */
  async end(): Promise<void> {
    await this.#handle.close();
    if (this.#partPath !== null) await rm(this.#partPath, { force: true });
  }
}
