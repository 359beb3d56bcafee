import { getOrThrow } from '../lib/checked-access.ts';

/** State of one kind of line. */
interface LineWindow {
  /** Lines suppressed in this window. */
  count: number;
  /** Writes the last of them. */
  write(fields: RepeatedFields): void;
  timer: NodeJS.Timeout;
}

/** Fields added to a line that stands for others. */
export interface RepeatedFields {
  /** Number of lines that it stands for; absent if there is only one. */
  repeated?: number;
}

const WINDOW_MS = 1_000;
const KINDS_MAX = 1_000;

/**
 * Keeps repeated lines from flooding a log. Writes the first line of a kind at once, and the
 * following ones once per second as one line. The sum of `repeated`, or 1 where absent, is the
 * number of lines.
 */
export class RepeatedLines {
  readonly #windows = new Map<string, LineWindow>();
  #isClosed = false;

  /**
   * `kind` decides which lines are the same. Calls `write` at once or within a second, unless a
   * later line of the same kind replaces it.
   */
  write(kind: string, write: LineWindow['write']): void {
    const window = this.#windows.get(kind);
    if (window !== undefined) {
      window.count++;
      window.write = write;
      return;
    }
    write({});
    if (!this.#isClosed && this.#windows.size < KINDS_MAX) this.#open(kind);
  }

  /** Writes suppressed lines and stops suppressing. */
  close(): void {
    this.#isClosed = true;
    for (const kind of this.#windows.keys()) this.#end(kind);
  }

  #open(kind: string): void {
    const timer = setTimeout(() => this.#end(kind), WINDOW_MS).unref();
    this.#windows.set(kind, { count: 0, write: () => undefined, timer });
  }

  #end(kind: string): void {
    const { count, write, timer } = getOrThrow(this.#windows, kind);
    clearTimeout(timer);
    this.#windows.delete(kind);
    if (count === 0) return;
    write(count === 1 ? {} : { repeated: count });
    if (!this.#isClosed) this.#open(kind);
  }
}
