/** Of one kind of line. */
interface Window {
  /** Lines that were kept back in it. */
  count: number;
  /** Writes the last of them. */
  write(fields: RepeatedFields): void;
  timer: NodeJS.Timeout;
}

/** What a line says of those that it stands for. */
export interface RepeatedFields {
  /** How many lines it stands for; absent where it is just itself. */
  repeated?: number;
}

const WINDOW_MS = 1_000;
const KINDS_MAX = 1_000;

/**
 * Keeps lines that say the same from flooding a log: the first of a kind is written at once, those
 * of the next second as one line with their number, and so on for as long as they come. None goes
 * uncounted: `repeated`, or 1 without it, adds up to the number of lines.
 */
export class RepeatedLines {
  readonly #windows = new Map<string, Window>();
  #isClosed = false;

  /**
   * `kind` says which lines are the same; `write` is called now or at most a second later, or not
   * at all if a later one of its kind stands for it.
   */
  write(kind: string, write: Window['write']): void {
    const window = this.#windows.get(kind);
    if (window !== undefined) {
      window.count++;
      window.write = write;
      return;
    }
    write({});
    if (!this.#isClosed && this.#windows.size < KINDS_MAX) this.#open(kind);
  }

  /** Writes what is kept back, and keeps nothing back from then on. */
  close(): void {
    this.#isClosed = true;
    for (const kind of this.#windows.keys()) this.#end(kind);
  }

  #open(kind: string): void {
    const timer = setTimeout(() => this.#end(kind), WINDOW_MS).unref();
    this.#windows.set(kind, { count: 0, write: () => undefined, timer });
  }

  #end(kind: string): void {
    const { count, write, timer } = this.#windows.get(kind)!;
    clearTimeout(timer);
    this.#windows.delete(kind);
    if (count === 0) return;
    write(count === 1 ? {} : { repeated: count });
    if (!this.#isClosed) this.#open(kind);
  }
}
