import { type RowRange, TABLE_PAGE } from '../../contracts/actions/cluster.ts';

/** Selects the rows of a slice from a sequence of groups, such as collections' shards. */
export class RowWindow {
  readonly #first: number;
  readonly #limit: number;
  #seen = 0;
  #taken = 0;

  constructor({ offset = 0, limit = TABLE_PAGE.default }: RowRange) {
    this.#first = offset;
    this.#limit = limit;
  }

  /** Returns the indexes `[from, to)` of those of the next `count` rows that are in the slice. */
  next(count: number): { from: number; to: number } {
    const from = Math.min(count, Math.max(0, this.#first - this.#seen));
    const to = Math.min(count, from + this.#limit - this.#taken);
    this.#seen += count;
    this.#taken += to - from;
    return { from, to };
  }

  /** Whether a row after the slice was seen, so that no more need to be read. */
  get isOver(): boolean {
    return this.#seen > this.#first + this.#limit;
  }

  /** Offset of the next slice; null if there is none. Valid after the last `next`. */
  get nextOffset(): number | null {
    return this.isOver ? this.#first + this.#limit : null;
  }
}
