const PRIME = 0x01000193;

/** A running hash of numbers (FNV-1a over their bits), to compare two sequences of events. */
export class TraceHash {
  readonly #floats = new Float64Array(1);
  readonly #words = new Uint32Array(this.#floats.buffer);
  #state = 0x811c9dc5;
  #count = 0;

  add(...numbers: number[]): void {
    for (const number of numbers) {
      this.#floats[0] = number;
      for (const word of this.#words) this.#state = Math.imul(this.#state ^ word, PRIME) >>> 0;
      this.#count++;
    }
  }

  /** Number of hashed values, and the hash. */
  digest(): string {
    return `${this.#count}:${this.#state.toString(16)}`;
  }
}
