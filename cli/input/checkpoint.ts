import { readFile, rm, stat } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { replaceFile } from '../output/replaced-file.ts';
import type { LinePlace } from './line-batches.ts';

/** What an import has stored so far. */
export interface ImportState extends LinePlace {
  records: number;
  /** Whether the file is an export with its first line. */
  hasHead: boolean;
}

/** What a checkpoint is for. Another file or collection must not continue from it. */
interface Subject extends Target {
  bytes: number;
  modifiedAt: string;
}

/** Where an import writes. */
interface Target {
  collectionId: string;
  /** Namespace of the records that name none. */
  namespace?: string;
}

/** A file that keeps how far an import has come, so that a killed import can continue. */
export class Checkpoint {
  readonly #path: string;
  readonly #subject: Subject;

  private constructor(path: string, subject: Subject) {
    this.#path = path;
    this.#subject = subject;
  }

  static async of(path: string, source: string, target: Target): Promise<Checkpoint> {
    const { size: bytes, mtime } = await stat(source);
    return new Checkpoint(path, { ...target, bytes, modifiedAt: mtime.toISOString() });
  }

  /** Returns where to continue; undefined if there is no checkpoint. */
  async read(): Promise<ImportState | undefined> {
    const text = await readFile(this.#path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    if (text === null) return undefined;
    const { state, ...subject } = this.#parsed(text);
    for (const name of ['collectionId', 'namespace', 'bytes', 'modifiedAt'] as const) {
      if (subject[name] !== this.#subject[name])
        throw new InputError(`${this.#path} is of another file or collection (${name}). Remove it to begin anew.`);
    }
    return state;
  }

  write(state: ImportState): Promise<void> {
    return replaceFile(this.#path, `${JSON.stringify({ ...this.#subject, state })}\n`);
  }

  remove(): Promise<void> {
    return rm(this.#path, { force: true });
  }

  #parsed(text: string): Subject & { state: ImportState } {
    try {
      const content = JSON.parse(text) as Subject & { state: ImportState };
      const { line, byte, records } = content.state;
      if ([line, byte, records].every(Number.isSafeInteger)) return content;
    } catch {
      // Reported below, as any other file that is no checkpoint.
    }
    throw new InputError(`${this.#path} is not a checkpoint of an import.`);
  }
}
