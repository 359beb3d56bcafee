import { once } from 'node:events';
import { FairScheduler } from '../../../lib/time/fair-scheduler.ts';
import { type Encoder, Encoders } from '../codings/encoders.ts';
import type { RequestContext } from '../request-context.ts';
import { JsonBuffer } from './json-buffer.ts';
import type { Pieces } from './json-pieces.ts';
import { type MinimumPace, ReadingPace } from './reading-pace.ts';

/** Media type of newline-delimited JSON, for exports and imports. */
export const NDJSON_TYPE = 'application/x-ndjson';

export const JSON_HEADERS = Object.freeze({
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
});

export interface Head {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** Shorter responses are not compressed: they fit into one packet. */
const ENCODED_MIN_BYTES = 1024;
/** Longer responses are sent in pieces of about this size. */
const PIECE_BYTES = 64 * 1024;
/** Time in ms per turn of the event loop for building pieces, each of which takes about 1 ms. */
const TURN_MS = 3;
/** Largest unread rest of a request body that is discarded to keep the connection. */
const UNREAD_KEPT_MAX_BYTES = 64 * 1024;
/** Time in ms that a sending client gets to read the response before the connection closes. */
const LINGER_MS = 2_000;

/** Returns true if the rest of the request's body is, or may be, too large to read and discard. */
function hasMuchUnread(request: RequestContext): boolean {
  if (request.req.complete || !request.hasBody) return false;
  return request.awaitsContinue || request.declaredBytes === 0 || request.declaredBytes > UNREAD_KEPT_MAX_BYTES;
}

/**
 * Discards what the client still sends: closing the connection earlier could reset it before the
 * client has read the response.
 */
async function linger({ req }: RequestContext): Promise<void> {
  req.resume();
  const signal = AbortSignal.timeout(LINGER_MS);
  // Rejects after the time limit; the connection is then closed.
  await Promise.race([once(req, 'end', { signal }), once(req, 'close', { signal })]).catch(() => undefined);
}

/** Sends responses. Large ones are sent in turns, no faster than their clients read. */
export class Sender {
  readonly #turns = new FairScheduler({ turnMs: TURN_MS, isEager: true });
  readonly #encoders = new Encoders();
  readonly #minimumPace: MinimumPace;

  constructor(minimumPace: MinimumPace) {
    this.#minimumPace = minimumPace;
  }

  /**
   * Sends a response no faster than its client reads: bytes, or pieces that are built while
   * sending, followed by those of `more` until it returns null. Resolves when the response is
   * handed to the system, the client has disconnected, or a slow client was cut off; until then the
   * response's memory stays reserved. Rejects if building a piece fails. Compresses responses of
   * the API if their clients accept that.
   */
  async send(request: RequestContext, head: Head, content: Buffer | Pieces, more: More = NO_MORE): Promise<void> {
    const { res } = request;
    if (res.headersSent || res.destroyed) return;
    if (typeof content !== 'function') return this.#sendWhole(request, head, content);
    const json = new JsonBuffer();
    const pieces = await this.#fill(request, json, content(json), more);
    if (res.destroyed) return;
    if (pieces === null) return this.#sendWhole(request, head, json.take());
    await this.#stream(request, head, json, pieces, more);
  }

  /** Sends a response with a Content-Length. */
  async #sendWhole(request: RequestContext, head: Head, content: Buffer): Promise<void> {
    const { res } = request;
    const encoder = content.byteLength < ENCODED_MIN_BYTES ? null : this.#encoders.take(request, head.status);
    const body = encoder === null ? content : await encodeWhole(encoder, content);
    if (res.destroyed) return;
    const lingers = start(request, head, encoder) && !request.awaitsContinue;
    // A 304 would name the length of the answer that the client has.
    if (head.status !== 204 && head.status !== 304) res.setHeader('Content-Length', body.byteLength);
    const pace = new ReadingPace(this.#minimumPace);
    let sentBytes = 0;
    while (body.byteLength - sentBytes > PIECE_BYTES) {
      const piece = body.subarray(sentBytes, sentBytes + PIECE_BYTES);
      if (!(await this.#write(request, pace, piece))) return;
      sentBytes += PIECE_BYTES;
    }
    const last = body.subarray(sentBytes);
    if (!lingers) return this.#end(request, pace, last);
    res.write(last);
    await linger(request);
    await this.#end(request, pace, NOTHING);
  }

  async #stream(
    request: RequestContext,
    head: Head,
    json: JsonBuffer,
    pieces: Iterator<void>,
    more: More,
  ): Promise<void> {
    const encoder = this.#encoders.take(request, head.status);
    try {
      start(request, head, encoder);
      const pace = new ReadingPace(this.#minimumPace);
      for (let left: Iterator<void> | null = pieces; left !== null; ) {
        const piece = json.take();
        if (!(await this.#write(request, pace, encoder === null ? piece : await encoder.add(piece)))) return;
        left = await this.#fill(request, json, left, more);
      }
      const last = json.take();
      await this.#end(request, pace, encoder === null ? last : await encoder.finish(last));
    } finally {
      encoder?.close();
    }
  }

  /** Returns false if the client disconnected or was cut off. */
  async #write(request: RequestContext, pace: ReadingPace, piece: Buffer): Promise<boolean> {
    // A compressed piece may be empty, as long as the encoder waits for more.
    if (piece.byteLength > 0) request.res.write(piece);
    if (await pace.keeps(request.res, piece.byteLength)) return true;
    request.abort('slow_client');
    return false;
  }

  async #end(request: RequestContext, pace: ReadingPace, last: Buffer): Promise<void> {
    request.res.end(last);
    if (!(await pace.finishes(request.res))) request.abort('slow_client');
  }

  /** Builds one piece and returns the iterator that builds the next one, or null after the last. */
  async #fill(
    { accountId }: RequestContext,
    json: JsonBuffer,
    pieces: Iterator<void>,
    more: More,
  ): Promise<Iterator<void> | null> {
    if (!(await this.#turns.run(accountId, () => fill(json, pieces)))) return pieces;
    const following = await more();
    return following === null ? null : following(json);
  }
}

/** Returns the next part of a response, or null after the last. */
type More = () => Promise<Pieces | null>;
const NO_MORE: More = () => Promise.resolve(null);

/** Builds one piece. Returns true if it is the last. */
function fill(json: JsonBuffer, pieces: Iterator<void>): boolean {
  while (json.length < PIECE_BYTES) if (pieces.next().done) return true;
  return false;
}

const NOTHING = Buffer.alloc(0);

async function encodeWhole(encoder: Encoder, body: Buffer): Promise<Buffer> {
  const encoded: Buffer[] = [];
  try {
    let at = 0;
    for (; body.byteLength - at > PIECE_BYTES; at += PIECE_BYTES)
      encoded.push(await encoder.add(body.subarray(at, at + PIECE_BYTES)));
    encoded.push(await encoder.finish(body.subarray(at)));
  } finally {
    encoder.close();
  }
  return Buffer.concat(encoded);
}

/** Sets status and headers. Returns true if the connection closes after the response. */
function start(request: RequestContext, { status, headers }: Head, encoder: Encoder | null): boolean {
  const { res } = request;
  const close = hasMuchUnread(request);
  res.statusCode = status;
  // Set here because the router sets this header with another spelling.
  res.setHeader('X-Request-Id', request.id);
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (encoder !== null) res.setHeader('Content-Encoding', encoder.coding).appendHeader('Vary', 'Accept-Encoding');
  if (close) res.setHeader('Connection', 'close');
  return close;
}
