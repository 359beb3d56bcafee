/** Smallest capacity that is allocated. */
const FIRST_BYTES = 64 * 1024;
const GROWTH = 8;

/**
 * Collects chunks into one contiguous buffer of at most `mostBytes`. Memory is allocated as data
 * arrives, so a length that a client only declares costs nothing.
 */
export class GrowingBytes {
  readonly #mostBytes: number;
  #buffer = new ArrayBuffer(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#buffer, 0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  /** Returns false, and adds nothing, if the total would exceed the maximum. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.byteLength;
    if (length > this.#mostBytes) return false;
    if (length > this.#buffer.byteLength) this.#buffer = this.#buffer.transfer(this.#capacityFor(length));
    new Uint8Array(this.#buffer).set(chunk, this.#length);
    this.#length = length;
    return true;
  }

  /** Starts over. Later chunks overwrite the array that `bytes` returned. */
  clear(): void {
    this.#length = 0;
  }

  /**
   * Returns the smallest capacity that fits: the maximum, an eighth of it, an eighth of that, and
   * so on. Growing therefore copies at most an eighth of the new capacity, which bounds how long it
   * blocks the event loop.
   */
  #capacityFor(length: number): number {
    let capacity = this.#mostBytes;
    while (capacity > FIRST_BYTES && capacity / GROWTH >= length) capacity = Math.ceil(capacity / GROWTH);
    return capacity;
  }
}
