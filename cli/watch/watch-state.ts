import { readFile } from 'node:fs/promises';
import { InputError } from '../../client/cli/json-file.ts';
import { replaceFile } from '../output/replaced-file.ts';
import type { Seen } from './contradiction.ts';

/**
 * What a watch has seen, by collection id, and the file that keeps it for a later watch. Nothing is
 * ever removed: a collection that reappears is compared with what it was.
 */
export class WatchState {
  readonly #path: string | undefined;
  readonly #seen: Map<string, Seen>;

  private constructor(path: string | undefined, seen: Map<string, Seen>) {
    this.#path = path;
    this.#seen = seen;
  }

  /** Reads the file, if it exists. Without a path, keeps the state in memory only. */
  static async open(path: string | undefined): Promise<WatchState> {
    if (path === undefined) return new WatchState(path, new Map());
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return null;
    });
    return new WatchState(path, text === null ? new Map() : new Map(Object.entries(collectionsIn(text, path))));
  }

  get(id: string): Seen | undefined {
    return this.#seen.get(id);
  }

  set(id: string, seen: Seen): void {
    this.#seen.set(id, seen);
  }

  /** Returns the ids and what was seen of all collections. */
  entries(): [id: string, seen: Seen][] {
    return [...this.#seen];
  }

  async save(): Promise<void> {
    if (this.#path === undefined) return;
    const content = { watched: Object.fromEntries(this.#seen) };
    await replaceFile(this.#path, `${JSON.stringify(content, null, 2)}\n`);
  }
}

function collectionsIn(text: string, path: string): Record<string, Seen> {
  try {
    const { watched } = JSON.parse(text) as { watched: Record<string, Seen> };
    if (Object.values(watched).every(isSeen)) return watched;
  } catch {
    // Reported below, like any other file that is not a state.
  }
  throw new InputError(`${path} is not a state of provec watch.`);
}

const isSeen = (value: Seen): boolean => isRoot(value) && (value.anchor === null || isRoot(value.anchor));
const isRoot = (value: { version: unknown; merkleRoot: unknown }): boolean =>
  Number.isSafeInteger(value.version) && typeof value.merkleRoot === 'string';
