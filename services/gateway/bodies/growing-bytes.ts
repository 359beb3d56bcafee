/** Not worth growing for. */
const FIRST_BYTES = 64 * 1024;
const GROWTH = 8;

/**
 * What has come of at most `mostBytes`, in one piece, whatever pieces it came in. Memory is taken
 * as it comes, so that what is only announced costs nothing.
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

  /** False when it would be more than the most. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.byteLength;
    if (length > this.#mostBytes) return false;
    if (length > this.#buffer.byteLength) this.#buffer = this.#buffer.transfer(this.#capacityFor(length));
    new Uint8Array(this.#buffer).set(chunk, this.#length);
    this.#length = length;
    return true;
  }

  /** Begins anew; what `bytes` gave is written over. */
  clear(): void {
    this.#length = 0;
  }

  /**
   * The most, or an eighth of it, or an eighth of that: growing never copies more than an eighth,
   * which bounds how long it holds the event loop.
   */
  #capacityFor(length: number): number {
    let capacity = this.#mostBytes;
    while (capacity > FIRST_BYTES && capacity / GROWTH >= length) capacity = Math.ceil(capacity / GROWTH);
    return capacity;
  }
}
