import type { Transform } from 'node:stream';

/** A stream of node:zlib. */
export type CodingStream = Transform & { readonly bytesWritten: number };

/** Runs a stream of node:zlib piece by piece, on the thread pool, and returns what is ready. */
export class PiecewiseCoder {
  readonly #stream: CodingStream;
  /** Settles when the stream has ended or failed, which may be before the last piece. */
  readonly #over: Promise<void>;
  #ready: Buffer[] = [];

  constructor(stream: CodingStream) {
    this.#stream = stream;
    stream.on('data', (bytes: Buffer) => this.#ready.push(bytes));
    this.#over = new Promise((resolve, reject) => {
      stream
        .once('end', resolve)
        .once('error', reject)
        .once('close', () => reject(new Error('The coder was closed.')));
    });
    // Callers get the error from `add` or `finish`.
    this.#over.catch(() => undefined);
  }

  /** Bytes of all pieces that the stream has read; it reads no further than the end of its data. */
  get consumedBytes(): number {
    return this.#stream.bytesWritten;
  }

  /** Adds a piece and returns what is ready, which may be nothing. Rejects with zlib's errors. */
  async add(piece: Uint8Array): Promise<Buffer> {
    const written = new Promise<void>((resolve, reject) => {
      this.#stream.write(piece, (error) => (error ? reject(error) : resolve()));
    });
    // A stream that fails does not call back.
    const failed = this.#over.then(() => written);
    await Promise.race([written, failed]);
    return this.#taken();
  }

  /** Adds the last piece and returns the rest. Rejects with zlib's errors. */
  async finish(last: Uint8Array): Promise<Buffer> {
    this.#stream.end(last);
    await this.#over;
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
