import type { Slice } from '../../lib/actions/cluster.ts';

const ROWS_DEFAULT = 100;
export const ROWS_MAX = 1_000;

/**
 * Takes the rows of one slice of a sequence that is walked from its beginning, in groups such as a
 * collection's shards.
 */
export class Window {
  readonly #first: number;
  readonly #limit: number;
  #seen = 0;
  #taken = 0;

  constructor({ offset = 0, limit = ROWS_DEFAULT }: Slice) {
    this.#first = offset;
    this.#limit = limit;
  }

  /** Indexes `[from, to)` of the next `count` rows that lie in the slice. */
  next(count: number): { from: number; to: number } {
    const from = Math.min(count, Math.max(0, this.#first - this.#seen));
    const to = Math.min(count, from + this.#limit - this.#taken);
    this.#seen += count;
    this.#taken += to - from;
    return { from, to };
  }

  /** Whether rows came that lie behind the slice: no more need be looked at. */
  get isOver(): boolean {
    return this.#seen > this.#first + this.#limit;
  }

  /** Where the next slice begins; null when there is none. To be asked at the end of the walk. */
  get nextOffset(): number | null {
    return this.isOver ? this.#first + this.#limit : null;
  }
}
