import { once } from 'node:events';
import type { Transform } from 'node:stream';

/** Runs a stream of node:zlib piece by piece, on the thread pool, and returns what is ready. */
export class PiecewiseCoder {
  readonly #stream: Transform;
  #ready: Buffer[] = [];

  constructor(stream: Transform) {
    this.#stream = stream;
    stream.on('data', (bytes: Buffer) => this.#ready.push(bytes));
    // Callers get the error from `add` or `finish`.
    stream.on('error', () => undefined);
  }

  /** Adds a piece and returns what is ready, which may be nothing. Rejects with zlib's errors. */
  async add(piece: Uint8Array): Promise<Buffer> {
    await new Promise<void>((resolve, reject) => {
      this.#stream.write(piece, (error) => (error ? reject(error) : resolve()));
    });
    return this.#taken();
  }

  /** Adds the last piece and returns the rest. Rejects with zlib's errors. */
  async finish(last: Uint8Array): Promise<Buffer> {
    this.#stream.end(last);
    await once(this.#stream, 'end');
    return this.#taken();
  }

  /** Gives the stream's memory back. To be called in every case; idempotent. */
  close(): void {
    this.#stream.destroy();
  }

  #taken(): Buffer {
    const ready = Buffer.concat(this.#ready);
    this.#ready = [];
    return ready;
  }
}
