import { readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ShardKey } from '../../../lib/shard/key.ts';

const FILE = 'open-shards.json';
const WRITE_DELAY_MS = 1_000;
const LISTED_MAX = 1_000;
const SHARD_KEY = /^[0-9a-f-]{36}\.\d{1,3}$/;

/**
 * Remembers which shards are open on this node, so that a restarted node opens them before it
 * reports ready. Best effort: without the list, first queries are slower; no data depends on it.
 */
export class OpenList {
  #path: string;
  #current: () => ShardKey[];
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(dataDir: string, current: () => ShardKey[]) {
    this.#path = join(dataDir, FILE);
    this.#current = current;
  }

  /** Returns the shards that were open when the process last ended, most recently used first. */
  previous(): ShardKey[] {
    try {
      const list: unknown = JSON.parse(readFileSync(this.#path, 'utf8'));
      return Array.isArray(list) ? list.filter((key) => typeof key === 'string' && SHARD_KEY.test(key)) : [];
    } catch {
      return [];
    }
  }

  changed(): void {
    if (!this.#ended) this.#timer ??= setTimeout(() => void this.flush(), WRITE_DELAY_MS).unref();
  }

  /** Stops updating the list: the shards that close during shutdown should reopen on restart. */
  end(): void {
    this.#ended = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  async flush(): Promise<void> {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const text = JSON.stringify(this.#current().slice(0, LISTED_MAX));
    this.#writing = this.#writing
      .then(() => rm(`${this.#path}.new`, { force: true }))
      // Always creates a new file, so that a link planted at this path is never written through.
      .then(() => writeFile(`${this.#path}.new`, text, { mode: 0o600, flag: 'wx' }))
      .then(() => rename(`${this.#path}.new`, this.#path))
      // A list that is old or missing only makes the next start slower.
      .catch(() => undefined);
    await this.#writing;
  }
}
