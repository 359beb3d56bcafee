import { compareUtf8 } from '../../../../lib/records/utf8-order.ts';

const CHUNK_MAX = 512;

/**
 * Distinct names in the order of their UTF-8 bytes: a list of chunks, none empty. A full one
 * becomes two, and two neighbours that together are less than half full become one, so a change
 * moves a few kilobytes at most.
 */
export class NameOrder {
  readonly #chunks: string[][] = [];

  /** The name must not be there. */
  add(name: string): void {
    if (this.#chunks.length === 0) this.#chunks.push([]);
    const at = this.#chunkOf(name);
    const chunk = this.#chunks[at];
    chunk.splice(placeIn(chunk, name), 0, name);
    if (chunk.length > CHUNK_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_MAX / 2));
  }

  /** The name must be there. */
  delete(name: string): void {
    const at = this.#chunkOf(name);
    const chunk = this.#chunks[at];
    chunk.splice(placeIn(chunk, name), 1);
    const next = this.#chunks[at + 1];
    if (next !== undefined && chunk.length + next.length < CHUNK_MAX / 2) {
      chunk.push(...next);
      this.#chunks.splice(at + 1, 1);
    }
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** The names from `name` on. The order must not change meanwhile. */
  *from(name: string): Iterable<string> {
    if (this.#chunks.length === 0) return;
    const first = this.#chunkOf(name);
    for (let at = first; at < this.#chunks.length; at++) {
      const chunk = this.#chunks[at];
      for (let i = at === first ? placeIn(chunk, name) : 0; i < chunk.length; i++) yield chunk[i];
    }
  }

  /** The last chunk that begins no later than `name`, or the first one. */
  #chunkOf(name: string): number {
    let [low, high] = [0, this.#chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (compareUtf8(this.#chunks[middle][0], name) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Where `name` is, or would be. */
function placeIn(chunk: readonly string[], name: string): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareUtf8(chunk[middle], name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
