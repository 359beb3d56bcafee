/**
 * Passes what clients send to Node's HTTP parser, one request at a time.
 *
 * Node parses each read of a connection in one piece. 64 KiB can hold 2,800 requests, which would
 * hold the event loop for 0.2 s, times the number of connections that send such a burst. So each
 * piece that the parser gets here contains the end of at most one head. The first piece of a read
 * is parsed at once; the others wait while their connection is held, and while this turn of the
 * event loop has parsed for `TURN_MS`. Connections that wait for a turn are served in order.
 */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';

const HEAD_END = '\r\n\r\n';
const TURN_MS = 5;

type Parse = (bytes: Buffer) => void;

export interface FeedOptions {
  /** Returns true while no further request of the connection may be parsed. */
  isHeld(socket: Socket): boolean;
  /** Tells how many bytes of memory the unparsed part of the last read takes. */
  keeps(socket: Socket, bytes: number): void;
}

export class ParserFeed {
  readonly #options: FeedOptions;
  /**
   * Connections that were paused here. Node pauses connections, too, and its parser may get nothing
   * before Node has resumed them.
   */
  readonly #paused = new WeakSet<Socket>();
  /** Connections whose last read is not parsed in full. */
  readonly #unparsed = new WeakSet<Socket>();
  /** Paused connections that wait for a turn. */
  readonly #waiting = new Set<Socket>();
  /** Time spent on parsing in this turn, in milliseconds. */
  #spentMs = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Takes the place of Node's own listener. Call it in the server's `connection` event. */
  connected(socket: Socket): void {
    const [parse] = socket.listeners('data') as Parse[];
    assert(parse !== undefined, 'a connection without a parser');
    socket.off('data', parse);
    socket.on('data', (bytes: Buffer) => this.#feed(socket, parse, bytes));
    socket.once('close', () => this.#waiting.delete(socket));
  }

  /** Stops parsing a connection, and discards what it still sends. */
  stop(socket: Socket): void {
    socket.removeAllListeners('data');
  }

  /** Continues a connection that is no longer held. */
  resume(socket: Socket): void {
    if (this.#paused.delete(socket)) socket.resume();
  }

  #feed(socket: Socket, parse: Parse, bytes: Buffer): void {
    this.#paused.delete(socket);
    this.#waiting.delete(socket);
    this.#options.keeps(socket, 0);
    let rest = bytes;
    for (let isFirst = !this.#unparsed.delete(socket); ; isFirst = false) {
      if (!socket.isPaused()) this.#pauseIfDue(socket, isFirst);
      if (socket.isPaused()) {
        this.#keep(socket, rest);
        return;
      }
      const end = endOfRequest(rest);
      this.#parse(parse, rest.subarray(0, end));
      if (end === rest.length || socket.destroyed || socket.listenerCount('data') === 0) return;
      rest = rest.subarray(end);
    }
  }

  #pauseIfDue(socket: Socket, isFirst: boolean): void {
    const isHeld = this.#options.isHeld(socket);
    if (!isHeld && (isFirst || this.#spentMs < TURN_MS)) return;
    socket.pause();
    this.#paused.add(socket);
    if (!isHeld) this.#waiting.add(socket);
  }

  /** Puts bytes back in front of what the connection reads next. */
  #keep(socket: Socket, rest: Buffer): void {
    socket.unshift(rest);
    this.#unparsed.add(socket);
    this.#options.keeps(socket, rest.buffer.byteLength);
  }

  #parse(parse: Parse, piece: Buffer): void {
    const startedMs = performance.now();
    parse(piece);
    if (this.#spentMs === 0) setImmediate(() => this.#nextTurn());
    this.#spentMs += Math.max(performance.now() - startedMs, Number.MIN_VALUE);
  }

  #nextTurn(): void {
    this.#spentMs = 0;
    this.#resumeNext();
  }

  #resumeNext(): void {
    const [socket] = this.#waiting;
    if (socket === undefined || this.#spentMs >= TURN_MS) return;
    this.#waiting.delete(socket);
    this.resume(socket);
    // The connection emits what it keeps before this tick.
    process.nextTick(() => this.#resumeNext());
  }
}

/** Returns where the first head in the bytes ends, or their length if they hold at most one. */
function endOfRequest(bytes: Buffer): number {
  const headEnd = bytes.indexOf(HEAD_END, 0, 'latin1');
  const end = headEnd + HEAD_END.length;
  return headEnd < 0 || bytes.indexOf(HEAD_END, end, 'latin1') < 0 ? bytes.length : end;
}
