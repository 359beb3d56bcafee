import { float32ArrayMaxBytes, writeFloat32Array } from '../../../lib/records/float32-json.ts';

const FIRST_BYTES = 4 * 1024;

/** Growing buffer of JSON text in UTF-8. */
export class JsonBuffer {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#length;
  }

  text(text: string): void {
    this.#reserve(text.length * 3);
    this.#length += this.#bytes.write(text, this.#length);
  }

  numbers(values: Float32Array): void {
    this.#reserve(float32ArrayMaxBytes(values.length));
    this.#length = writeFloat32Array(this.#bytes, this.#length, values);
  }

  /** Returns a copy of what was written, and starts over. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}
