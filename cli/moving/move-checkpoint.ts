import { readFile, rm } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { replaceFile } from '../output/replaced-file.ts';
import type { Issue } from '../sources/issues.ts';

/** How far an import from a source has come. */
export interface MoveState {
  /** Position in the source behind the last page that is stored; null at the beginning. */
  position: string | null;
  /** Records that the source returned up to there. */
  read: number;
  /** Records that are stored. */
  moved: number;
  leftOut: Partial<Record<Issue, number>>;
  /** Whole lines of the manifest. */
  manifestBytes: number;
  startedAt: string;
  /** Whether every record of the source is stored. */
  isComplete: boolean;
}

/** A file that keeps how far an import has come. It belongs to one source, target and options. */
export class MoveCheckpoint {
  readonly path: string;
  readonly #subject: string;

  /** `subject`: what the import reads, writes and leaves out. */
  constructor(path: string, subject: object) {
    this.path = path;
    this.#subject = JSON.stringify(subject);
  }

  /** Returns where to continue; null without a checkpoint. Throws if it is of another import. */
  async read(): Promise<MoveState | null> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    if (text === null) return null;
    const { subject, state } = this.#parsed(text);
    if (JSON.stringify(subject) === this.#subject) return state;
    throw new InputError(
      `${this.path} is of an import with another source, collection or other options. Remove it to begin anew, or give another --manifest.`,
    );
  }

  write(state: MoveState): Promise<void> {
    return replaceFile(this.path, `{"subject":${this.#subject},"state":${JSON.stringify(state)}}\n`);
  }

  remove(): Promise<void> {
    return rm(this.path, { force: true });
  }

  #parsed(text: string): { subject: unknown; state: MoveState } {
    try {
      const content = JSON.parse(text) as { subject: unknown; state: MoveState };
      const { read, moved, manifestBytes } = content.state;
      if ([read, moved, manifestBytes].every(Number.isSafeInteger)) return content;
    } catch {
      // Reported below, as any other file that is no checkpoint.
    }
    throw new InputError(`${this.path} is not a checkpoint of an import. Remove it to begin anew.`);
  }
}
