import { once } from 'node:events';
import { FairScheduler } from '../../../lib/time/fair-scheduler.ts';
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

/** Longer responses are sent in pieces of about this size. */
const PIECE_BYTES = 64 * 1024;
/** Time in ms per turn of the event loop for building pieces, each of which takes about 1 ms. */
const TURN_MS = 3;
/** Largest unread rest of a request body that is discarded to keep the connection. */
const UNREAD_KEPT_MAX_BYTES = 64 * 1024;
/** Time in ms that a sending client gets to read the response before the connection closes. */
const LINGER_MS = 2_000;

/** Returns true if the rest of the request's body is, or may be, too large to read and discard. */
function hasMuchUnread(exchange: RequestContext): boolean {
  if (exchange.req.complete || !exchange.hasBody) return false;
  return exchange.awaitsContinue || exchange.declaredBytes === 0 || exchange.declaredBytes > UNREAD_KEPT_MAX_BYTES;
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
  readonly #minimumPace: MinimumPace;

  constructor(minimumPace: MinimumPace) {
    this.#minimumPace = minimumPace;
  }

  /**
   * Sends a response no faster than its client reads: bytes, or pieces that are built while
   * sending, followed by those of `more` until it returns null. Resolves when the response is
   * handed to the system, the client has disconnected, or a slow client was cut off; until then the
   * response's memory stays reserved. Rejects if building a piece fails.
   */
  async send(exchange: RequestContext, head: Head, content: Buffer | Pieces, more: More = NO_MORE): Promise<void> {
    const { res } = exchange;
    if (res.headersSent || res.destroyed) return;
    if (typeof content !== 'function') return this.#sendWhole(exchange, head, content);
    const json = new JsonBuffer();
    const pieces = await this.#fill(exchange, json, content(json), more);
    if (res.destroyed) return;
    if (pieces === null) return this.#sendWhole(exchange, head, json.take());
    start(exchange, head);
    await this.#stream(exchange, json, pieces, more);
  }

  /** Sends a response with a Content-Length. */
  async #sendWhole(exchange: RequestContext, head: Head, body: Buffer): Promise<void> {
    const { res } = exchange;
    const lingers = start(exchange, head) && !exchange.awaitsContinue;
    if (head.status !== 204) res.setHeader('Content-Length', body.byteLength);
    const pace = new ReadingPace(this.#minimumPace);
    let sentBytes = 0;
    while (body.byteLength - sentBytes > PIECE_BYTES) {
      const piece = body.subarray(sentBytes, sentBytes + PIECE_BYTES);
      if (!(await this.#write(exchange, pace, piece))) return;
      sentBytes += PIECE_BYTES;
    }
    const last = body.subarray(sentBytes);
    if (!lingers) return this.#end(exchange, pace, last);
    res.write(last);
    await linger(exchange);
    await this.#end(exchange, pace, NOTHING);
  }

  async #stream(exchange: RequestContext, json: JsonBuffer, pieces: Iterator<void>, more: More): Promise<void> {
    const pace = new ReadingPace(this.#minimumPace);
    for (let left: Iterator<void> | null = pieces; left !== null; ) {
      if (!(await this.#write(exchange, pace, json.take()))) return;
      left = await this.#fill(exchange, json, left, more);
    }
    await this.#end(exchange, pace, json.take());
  }

  /** Returns false if the client disconnected or was cut off. */
  async #write(exchange: RequestContext, pace: ReadingPace, piece: Buffer): Promise<boolean> {
    exchange.res.write(piece);
    if (await pace.keeps(exchange.res, piece.byteLength)) return true;
    exchange.abort('slow_client');
    return false;
  }

  async #end(exchange: RequestContext, pace: ReadingPace, last: Buffer): Promise<void> {
    exchange.res.end(last);
    if (!(await pace.finishes(exchange.res))) exchange.abort('slow_client');
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

/** Sets status and headers. Returns true if the connection closes after the response. */
function start(exchange: RequestContext, { status, headers }: Head): boolean {
  const { res } = exchange;
  const close = hasMuchUnread(exchange);
  res.statusCode = status;
  // Set here because the router sets this header with another spelling.
  res.setHeader('X-Request-Id', exchange.id);
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (close) res.setHeader('Connection', 'close');
  return close;
}
