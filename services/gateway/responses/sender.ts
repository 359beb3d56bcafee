import { once } from 'node:events';
import type { Exchange } from '../exchange.ts';
import { JsonBuffer } from './json-buffer.ts';
import { type MinimumPace, ReadingPace } from './reading-pace.ts';
import type { ResponseTurns } from './response-turns.ts';
import type { Pieces } from './splice.ts';

export const JSON_HEADERS = Object.freeze({
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
});

/** How an answer begins. */
export interface Head {
  status: number;
  headers: Readonly<Record<string, string>>;
}

/** Answers of more than this are sent in pieces of about this size. */
const PIECE_BYTES = 64 * 1024;
/** An unread rest of a body up to this size is read and thrown away, and the connection kept. */
const UNREAD_KEPT_MAX_BYTES = 64 * 1024;
/**
 * A client that is still sending gets this long to notice the answer before the connection is
 * closed.
 */
const LINGER_MS = 2_000;

/** Whether so much of the request's body is still to come that the connection is better closed. */
function hasMuchUnread(exchange: Exchange): boolean {
  if (exchange.req.complete || !exchange.hasBody) return false;
  return exchange.awaitsContinue || exchange.declaredBytes === 0 || exchange.declaredBytes > UNREAD_KEPT_MAX_BYTES;
}

/**
 * Throws away what the client still sends, so that closing the connection does not cut off the
 * answer on its way.
 */
async function linger({ req }: Exchange): Promise<void> {
  req.resume();
  const signal = AbortSignal.timeout(LINGER_MS);
  await Promise.race([once(req, 'end', { signal }), once(req, 'close', { signal })]).catch(() => {});
}

/**
 * Sends answers: large ones piece by piece, in turns with all others, and no faster than their
 * clients read.
 */
export class Sender {
  readonly #turns: ResponseTurns;
  readonly #minimumPace: MinimumPace;

  constructor(turns: ResponseTurns, minimumPace: MinimumPace) {
    this.#turns = turns;
    this.#minimumPace = minimumPace;
  }

  /**
   * Sends an answer, no faster than its client reads: bytes, or pieces that are made as they are
   * sent, and those of the parts that follow until `more` gives null. Resolves once the answer is
   * handed to the system, or the client is gone or was cut off because it reads too slowly: until
   * then the answer's memory is held. Rejects when a piece cannot be made.
   */
  async send(exchange: Exchange, head: Head, content: Buffer | Pieces, more: More = NO_MORE): Promise<void> {
    const { res } = exchange;
    if (res.headersSent || res.destroyed) return;
    if (typeof content !== 'function') return this.#sendWhole(exchange, head, content);
    const json = new JsonBuffer();
    const pieces = await this.#fill(json, content(json), more);
    if (res.destroyed) return;
    if (pieces === null) return this.#sendWhole(exchange, head, json.take());
    start(exchange, head);
    await this.#stream(exchange, json, pieces, more);
  }

  /** With a Content-Length. */
  async #sendWhole(exchange: Exchange, head: Head, body: Buffer): Promise<void> {
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

  async #stream(exchange: Exchange, json: JsonBuffer, pieces: Iterator<void>, more: More): Promise<void> {
    const pace = new ReadingPace(this.#minimumPace);
    for (let left: Iterator<void> | null = pieces; left !== null; ) {
      if (!(await this.#write(exchange, pace, json.take()))) return;
      left = await this.#fill(json, left, more);
    }
    await this.#end(exchange, pace, json.take());
  }

  /** False when the client is gone, or was cut off. */
  async #write(exchange: Exchange, pace: ReadingPace, piece: Buffer): Promise<boolean> {
    exchange.res.write(piece);
    if (await pace.keeps(exchange.res, piece.byteLength)) return true;
    exchange.cut('slow_client');
    return false;
  }

  async #end(exchange: Exchange, pace: ReadingPace, last: Buffer): Promise<void> {
    exchange.res.end(last);
    if (!(await pace.finishes(exchange.res))) exchange.cut('slow_client');
  }

  /** Makes one piece, and says from where the next one is made; null when it is the last. */
  async #fill(json: JsonBuffer, pieces: Iterator<void>, more: More): Promise<Iterator<void> | null> {
    if (!(await this.#turns.run(() => fill(json, pieces)))) return pieces;
    const following = await more();
    return following === null ? null : following(json);
  }
}

/** What is left of an answer after its parts so far. */
type More = () => Promise<Pieces | null>;
const NO_MORE: More = () => Promise.resolve(null);

/** Makes one piece; true when it is the last. */
function fill(json: JsonBuffer, pieces: Iterator<void>): boolean {
  while (json.length < PIECE_BYTES) if (pieces.next().done) return true;
  return false;
}

const NOTHING = Buffer.alloc(0);

/** Sets the head; true when the connection ends with the answer. */
function start(exchange: Exchange, { status, headers }: Head): boolean {
  const { res } = exchange;
  const close = hasMuchUnread(exchange);
  res.statusCode = status;
  // Here, as the router sets one of another spelling.
  res.setHeader('X-Request-Id', exchange.id);
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (close) res.setHeader('Connection', 'close');
  return close;
}
