import { itemAt } from '../../../../lib/checked-access.ts';
import { compareUtf8 } from '../../../../lib/records/utf8-order.ts';

const CHUNK_MAX = 512;

/**
 * Distinct names in the order of their UTF-8 bytes, as a list of non-empty chunks. A full chunk is
 * split, and two neighbours that together are less than half full are merged, so a change moves a
 * few kilobytes at most.
 */
export class NameOrder {
  readonly #chunks: string[][] = [];

  /** Adds a name that must be absent. */
  add(name: string): void {
    if (this.#chunks.length === 0) this.#chunks.push([]);
    const at = this.#chunkOf(name);
    const chunk = itemAt(this.#chunks, at);
    chunk.splice(placeIn(chunk, name), 0, name);
    if (chunk.length > CHUNK_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_MAX / 2));
  }

  /** Deletes a name that must be present. */
  delete(name: string): void {
    const at = this.#chunkOf(name);
    const chunk = itemAt(this.#chunks, at);
    chunk.splice(placeIn(chunk, name), 1);
    const next = this.#chunks[at + 1];
    if (next !== undefined && chunk.length + next.length < CHUNK_MAX / 2) {
      chunk.push(...next);
      this.#chunks.splice(at + 1, 1);
    }
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** Yields the names from `name` on. The order must not change in the meantime. */
  *from(name: string): Iterable<string> {
    if (this.#chunks.length === 0) return;
    const [first = [], ...others] = this.#chunks.slice(this.#chunkOf(name));
    yield* first.slice(placeIn(first, name));
    for (const chunk of others) yield* chunk;
  }

  /** Returns the last chunk that starts at or before `name`, or else the first chunk. */
  #chunkOf(name: string): number {
    let [low, high] = [0, this.#chunks.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (compareUtf8(itemAt(itemAt(this.#chunks, middle), 0), name) <= 0) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Returns the position of `name`, or where it would be inserted. */
function placeIn(chunk: readonly string[], name: string): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareUtf8(itemAt(chunk, middle), name) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
