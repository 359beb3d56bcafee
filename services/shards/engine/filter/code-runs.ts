/**
 * Lists of codes, each in one piece at an address, in chunks that are never copied once they have
 * their full length.
 */
const CHUNK_CODES = 1 << 16;
const FIRST_CHUNK_CODES = 64;

export class CodeRuns {
  /**
   * The run at an address: its length at offset `address & 0xffff` of chunk `address >>> 16`, then
   * its codes.
   */
  readonly chunks: Uint32Array[] = [];
  #end = 0;
  #held = 0;
  #used = 0;
  #garbage = 0;

  get bytes(): number {
    return this.#held * 4;
  }

  /** Codes in runs that are in use. */
  get live(): number {
    return this.#used - this.#garbage;
  }

  get garbage(): number {
    return this.#garbage;
  }

  add(codes: readonly number[]): number {
    const chunk = this.#room(codes.length + 1);
    const at = this.#end;
    chunk[at] = codes.length;
    chunk.set(codes, at + 1);
    this.#end += codes.length + 1;
    this.#used += codes.length + 1;
    return (((this.chunks.length - 1) << 16) | at) >>> 0;
  }

  release(address: number): void {
    this.#garbage += 1 + this.chunks[address >>> 16][address & 0xffff];
  }

  /** The last chunk, with `codes` free places after `#end`. */
  #room(codes: number): Uint32Array {
    const last = this.chunks.length - 1;
    const needed = this.#end + codes;
    if (last >= 0 && needed <= this.chunks[last].length) return this.chunks[last];
    if (last >= 0 && needed <= CHUNK_CODES) {
      const grown = new Uint32Array(Math.min(CHUNK_CODES, Math.max(needed, this.chunks[last].length * 2)));
      grown.set(this.chunks[last]);
      this.#held += grown.length - this.chunks[last].length;
      this.chunks[last] = grown;
      return grown;
    }
    const chunk = new Uint32Array(Math.max(last < 0 ? FIRST_CHUNK_CODES : CHUNK_CODES, codes));
    this.chunks.push(chunk);
    this.#held += chunk.length;
    this.#end = 0;
    return chunk;
  }
}
