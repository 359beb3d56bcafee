import { constants, createGzip, createZstdCompress } from 'node:zlib';
import type { RequestContext } from '../request-context.ts';
import { acceptedCoding } from './accepted-coding.ts';
import { type CodingStream, PiecewiseCoder } from './piecewise-coder.ts';

/** Codings of responses, the cheapest first. */
const CODINGS = ['zstd', 'gzip'] as const;
type Coding = (typeof CODINGS)[number];

/** 4 and 11 ms for each MB of vectors as JSON; at most 256 KiB of memory. */
const MADE_BY: Readonly<Record<Coding, () => CodingStream>> = {
  gzip: () => createGzip({ level: constants.Z_BEST_SPEED, windowBits: 14, memLevel: 7 }),
  zstd: () =>
    createZstdCompress({
      params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 16 },
    }),
};
/** Responses that are compressed at a time; the memory of all is below 16 MiB. */
const ENCODERS_MAX = 64;
const WITHOUT_BODY = [204, 304];

/** Compresses one response. */
export interface Encoder extends Pick<PiecewiseCoder, 'add' | 'finish' | 'close'> {
  readonly coding: Coding;
}

/** Makes the encoders of responses, and bounds their number. */
export class Encoders {
  #used = 0;

  /**
   * Returns an encoder for a response if its client accepts one and one is free, else null: the
   * response then goes out as it is. Pages outside the API are not compressed here, since clients
   * without a key may ask for them; those that are large keep a compressed copy (`Asset`).
   */
  take(request: RequestContext, status: number): Encoder | null {
    if (request.route === null || request.method === 'HEAD' || WITHOUT_BODY.includes(status)) return null;
    const coding = acceptedCoding(request.req.headers['accept-encoding'], CODINGS);
    if (coding === null || this.#used >= ENCODERS_MAX) return null;
    this.#used++;
    const stream = MADE_BY[coding]().once('close', () => {
      this.#used--;
    });
    return Object.assign(new PiecewiseCoder(stream), { coding });
  }
}
