import { readFile, rm } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { replaceFile } from '../output/replaced-file.ts';

/**
 * A file that keeps how far an import has come, so that a killed import can continue. It belongs to
 * one subject: what the import reads, and where it writes.
 */
export class Checkpoint<State extends object> {
  readonly path: string;
  readonly #subject: Readonly<Record<string, unknown>>;
  readonly #counts: readonly (keyof State)[];

  /** `counts`: members of a state that are whole numbers. */
  constructor(path: string, subject: object, counts: readonly (keyof State)[]) {
    this.path = path;
    // As it is in the file: without what JSON leaves out.
    this.#subject = JSON.parse(JSON.stringify(subject)) as Record<string, unknown>;
    this.#counts = counts;
  }

  /** Returns where to continue; null without a checkpoint. Throws if it is of another import. */
  async read(): Promise<State | null> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    if (text === null) return null;
    const { subject, state } = this.#parsed(text);
    const names = new Set([...Object.keys(this.#subject), ...Object.keys(subject)]);
    const others = [...names].filter((name) => JSON.stringify(subject[name]) !== JSON.stringify(this.#subject[name]));
    if (others.length === 0) return state;
    throw new InputError(`${this.path} is of another import (${others.join(', ')}). Remove it to begin anew.`);
  }

  write(state: State): Promise<void> {
    return replaceFile(this.path, `${JSON.stringify({ subject: this.#subject, state })}\n`);
  }

  remove(): Promise<void> {
    return rm(this.path, { force: true });
  }

  #parsed(text: string): { subject: Record<string, unknown>; state: State } {
    try {
      const { subject, state } = JSON.parse(text) as { subject: Record<string, unknown>; state: State };
      const isWhole = this.#counts.every((name) => Number.isSafeInteger(state[name]));
      if (isWhole && typeof subject === 'object' && subject !== null) return { subject, state };
    } catch {
      // Reported below, as any other file that is no checkpoint.
    }
    throw new InputError(`${this.path} is not a checkpoint of an import. Remove it to begin anew.`);
  }
}
