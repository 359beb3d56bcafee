import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, constants, gzip } from 'node:zlib';
import { acceptedCoding } from './accepted-coding.ts';

const brotli = promisify<Buffer, BrotliOptions, Buffer>(brotliCompress);
const gzipped = promisify<Buffer, { level: number }, Buffer>(gzip);

/** Codings of a file, the smallest first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

/**
 * A file in memory, once for all responses. It is compressed when a client first asks for that
 * coding, on the thread pool.
 */
export class Asset {
  readonly type: string;
  readonly bytes: Buffer;
  /** Sent with it in every coding. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #coded = new Map<Coding, Promise<Buffer>>();

  constructor(type: string, text: string, headers: Readonly<Record<string, string>> = {}) {
    this.type = type;
    this.headers = headers;
    this.bytes = Buffer.from(text);
  }

  /** Returns the body for a client that accepts these codings, and its headers. */
  async bodyFor(accepted: string | string[] | undefined): Promise<{ body: Buffer; headers: Record<string, string> }> {
    const coding = acceptedCoding(accepted, CODINGS);
    const body = coding === null ? this.bytes : await this.#inCoding(coding);
    return {
      body,
      headers: { Vary: 'Accept-Encoding, Origin', ...(coding !== null && { 'Content-Encoding': coding }) },
    };
  }

  #inCoding(coding: Coding): Promise<Buffer> {
    const known = this.#coded.get(coding);
    if (known !== undefined) return known;
    const made =
      coding === 'br'
        ? brotli(this.bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: this.bytes.length } })
        : gzipped(this.bytes, { level: constants.Z_BEST_COMPRESSION });
    this.#coded.set(coding, made);
    return made;
  }
}
