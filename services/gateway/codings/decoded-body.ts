import type { IncomingMessage } from 'node:http';
import { constants, createGunzip, createZstdDecompress } from 'node:zlib';
import { ProvecError } from '../../../lib/errors.ts';
import { invalidValue } from '../../../lib/records/fields.ts';
import { type CodingStream, PiecewiseCoder } from './piecewise-coder.ts';

const KIB = 1024;
/** zstd's window, in powers of two: 8 MiB, which RFC 8878 recommends that decoders support. */
const WINDOW_LOG_MAX = 23;

interface Decoding {
  make(): CodingStream;
  /** Memory that decoding takes, besides the content. */
  memoryBytes: number;
}

const DECODINGS = {
  gzip: { make: () => createGunzip(), memoryBytes: 64 * KIB },
  zstd: {
    make: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX } }),
    memoryBytes: 2 ** WINDOW_LOG_MAX + 256 * KIB,
  },
} satisfies Record<string, Decoding>;

export type BodyCoding = keyof typeof DECODINGS;

/** JSON with vectors shrinks to a half or a third, text to a tenth. */
const EXPANSION_MAX = 100;
/** Content that any body may have, however small it is compressed. */
const EXPANDED_MIN_BYTES = KIB * KIB;
/** Compressed bytes decoded at a time, so that what they expand to is bounded, too. */
const STEP_BYTES = 16 * KIB;

const NOTHING = new Uint8Array(0);

/** Returns a body's coding, null for none. Throws UNSUPPORTED_MEDIA_TYPE for an unknown one. */
export function bodyCoding({ headers }: IncomingMessage): BodyCoding | null {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  if (coding === 'identity') return null;
  if (Object.hasOwn(DECODINGS, coding)) return coding as BodyCoding;
  throw new ProvecError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Provec accepts bodies with "Content-Encoding: gzip" or "zstd"; send the body in one of them, or uncompressed.',
  );
}

/** Memory in bytes that decoding a body takes, besides its content. */
export const decoderBytes = (coding: BodyCoding | null): number =>
  coding === null ? 0 : DECODINGS[coding].memoryBytes;

/**
 * Yields the content of a compressed body as it arrives. Throws INVALID_ARGUMENT if the body is not
 * in its coding or incomplete, BODY_TOO_LARGE if it expands to more than 100 times its size, and
 * the errors of `chunks`.
 */
export async function* decodedBody(chunks: AsyncIterable<Uint8Array>, coding: BodyCoding): AsyncIterable<Buffer> {
  const body = new CodedBody(coding);
  try {
    for await (const chunk of chunks) {
      for (let at = 0; at < chunk.byteLength; at += STEP_BYTES)
        yield* body.contentOf(chunk.subarray(at, at + STEP_BYTES));
    }
    yield await body.rest();
  } finally {
    body.close();
  }
}

/** Decodes the frames of a body, one after the other, and checks how much they expand. */
class CodedBody {
  readonly #coding: BodyCoding;
  #decoder: PiecewiseCoder;
  #receivedBytes = 0;
  #expandedBytes = 0;

  constructor(coding: BodyCoding) {
    this.#coding = coding;
    this.#decoder = new PiecewiseCoder(DECODINGS[coding].make());
  }

  async *contentOf(step: Uint8Array): AsyncIterable<Buffer> {
    this.#receivedBytes += step.byteLength;
    for (let left = step; ; ) {
      const beforeBytes = this.#decoder.consumedBytes;
      yield await this.#checked(this.#decoder.add(left));
      const consumedBytes = this.#decoder.consumedBytes - beforeBytes;
      if (consumedBytes === left.byteLength) return;
      if (consumedBytes === 0) throw notInCoding(this.#coding);
      // Node's decoder of zstd stops at the end of a frame.
      left = left.subarray(consumedBytes);
      this.close();
      this.#decoder = new PiecewiseCoder(DECODINGS[this.#coding].make());
    }
  }

  rest(): Promise<Buffer> {
    return this.#checked(this.#decoder.finish(NOTHING));
  }

  close(): void {
    this.#decoder.close();
  }

  async #checked(decoded: Promise<Buffer>): Promise<Buffer> {
    const content = await decoded.catch(() => Promise.reject(notInCoding(this.#coding)));
    this.#expandedBytes += content.byteLength;
    if (this.#expandedBytes > EXPANDED_MIN_BYTES + EXPANSION_MAX * this.#receivedBytes) throw tooLarge();
    return content;
  }
}

const notInCoding = (coding: BodyCoding): ProvecError =>
  invalidValue('body', `complete ${coding}, as its Content-Encoding says`, 'other bytes');

const tooLarge = (): ProvecError =>
  new ProvecError(
    'BODY_TOO_LARGE',
    `The body expands to more than ${EXPANSION_MAX} times its size; send it with less compression, or uncompressed.`,
  );
