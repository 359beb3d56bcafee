import { CLOSE_ABOVE, CLOSE_UNTIL } from './capacity-guard.ts';

/** What may be taken beyond the limit so that a shard that is asked for can be opened. */
const OVERDRAFT = 0.125;

/**
 * How much of a node's memory limit is taken, in bytes: by open shards, by what is held beside
 * them, by copies and by shards that are about to open.
 */
export class ResidentMemory {
  shards = 0;
  beside = 0;
  readonly #limit: number;
  readonly #copies: () => number;
  readonly #reserved: () => number;

  /**
   * `copies` and `reserved` tell what copies take and what was promised to shards that are about to
   * open.
   */
  constructor(limit: number, copies: () => number, reserved: () => number) {
    this.#limit = limit;
    this.#copies = copies;
    this.#reserved = reserved;
  }

  /** What open shards and what is held beside them take. */
  get own(): number {
    return this.shards + this.beside;
  }

  /**
   * Whether so much more fits, `closable` bytes once gone; with `overdraft` a little beyond the
   * limit.
   */
  fits(bytes: number, overdraft: boolean, closable = 0): boolean {
    const limit = this.#limit * (overdraft ? 1 + OVERDRAFT : 1);
    return this.own + this.#copies() - closable + this.#reserved() + bytes <= limit;
  }

  /** How much has to go until `free` bytes of the limit are free. */
  excess(free: number): number {
    return this.own + this.#copies() + free - this.#limit;
  }

  /** What is to be free by now; 0 while there is enough. */
  get due(): number {
    return this.excess(this.#limit * (1 - CLOSE_ABOVE)) > 0 ? this.#limit * (1 - CLOSE_UNTIL) : 0;
  }
}
