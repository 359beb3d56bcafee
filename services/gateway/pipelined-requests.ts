/**
 * Limits the cost of requests that a client sends on a connection before it has read earlier
 * responses (HTTP/1.1 pipelining).
 *
 * At most `RUNNING_MAX` requests of a connection run. The next one waits, and the connection is
 * held until it has started: it is neither read nor parsed (parser-feed.ts). Requests beyond the
 * first of their connection, and what was read but not parsed, hold at most `HELD_MAX_BYTES` in
 * total; above that, the connection that holds the most is closed, as HTTP/1.1 allows at any time.
 * A client that waits for each response never waits here. See docs/internals/overload.md.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HEAD_MAX_BYTES, headBytesOf } from './large-heads.ts';
import { ParserFeed } from './parser-feed.ts';

/** Maximum number of running requests per connection. */
const RUNNING_MAX = 8;
/** Maximum memory of all pipelined requests. Node reads up to 64 KiB of a connection at once. */
const HELD_MAX_BYTES = 32 * 1024 * 1024;
/** Measured memory that Node and the gateway use per request, in addition to its head. */
const REQUEST_BYTES = 4 * 1024;

interface Connection {
  unanswered: number;
  running: number;
  heldBytes: number;
  /** Part of `heldBytes` that is not parsed yet. */
  unparsedBytes: number;
  /** Starts the request that waits; null if none does. */
  next: (() => void) | null;
  /** When it was last no longer held, in monotonic milliseconds. */
  readAgainMs: number;
  /** Set while a head is late that could not arrive earlier. */
  headTimer: NodeJS.Timeout | undefined;
}

export class PipelinedRequests {
  readonly #connections = new Map<Socket, Connection>();
  readonly #feed = new ParserFeed({
    isHeld: (socket) => this.isHeld(socket),
    keeps: (socket, bytes) => this.#keeps(socket, bytes),
  });
  #heldBytes = 0;

  /** Call it in the server's `connection` event. */
  connected(socket: Socket): void {
    this.#connections.set(socket, {
      unanswered: 0,
      running: 0,
      heldBytes: 0,
      unparsedBytes: 0,
      next: null,
      readAgainMs: -Infinity,
      headTimer: undefined,
    });
    socket.once('close', () => this.#closed(socket));
    this.#feed.connected(socket);
  }

  /** Takes no further requests from a connection. */
  stop(socket: Socket): void {
    this.#feed.stop(socket);
  }

  /** Calls `handle` now, or once earlier requests on the connection have been answered. */
  add(req: IncomingMessage, res: ServerResponse, handle: () => void): void {
    const { socket } = req;
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const bytes = heldBytesOf(req, connection.unanswered === 0);
    connection.unanswered++;
    clearTimeout(connection.headTimer);
    this.#hold(connection, bytes);
    if (socket.destroyed) return;
    res.once('close', () => {
      if (this.#connections.has(socket)) this.#answered(socket, connection, bytes);
    });
    connection.next = handle;
    this.#startNext(connection);
  }

  /** Returns true if a request waits, so that the connection is not read. */
  isHeld(socket: Socket): boolean {
    return (this.#connections.get(socket)?.next ?? null) !== null;
  }

  /**
   * Calls `refuse` for a head that Node finds late, but not until its connection has been read
   * again for `headerMs`.
   */
  headLate(socket: Socket, headerMs: number, refuse: () => void): void {
    const connection = this.#connections.get(socket);
    const readAgainMs = this.isHeld(socket) ? performance.now() : (connection?.readAgainMs ?? -Infinity);
    const leftMs = readAgainMs + headerMs - performance.now();
    if (connection === undefined || leftMs <= 0) refuse();
    else connection.headTimer = setTimeout(() => this.headLate(socket, headerMs, refuse), leftMs);
  }

  #closed(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#heldBytes -= connection.heldBytes;
    connection.next = null;
    clearTimeout(connection.headTimer);
  }

  #hold(connection: Connection, bytes: number): void {
    connection.heldBytes += bytes;
    this.#heldBytes += bytes;
    if (this.#heldBytes > HELD_MAX_BYTES) this.#closeLargest();
  }

  #keeps(socket: Socket, bytes: number): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const addedBytes = bytes - connection.unparsedBytes;
    connection.unparsedBytes = bytes;
    this.#hold(connection, addedBytes);
  }

  #startNext(connection: Connection): void {
    const { next } = connection;
    if (next === null || connection.running === RUNNING_MAX) return;
    connection.next = null;
    connection.running++;
    next();
  }

  #answered(socket: Socket, connection: Connection, bytes: number): void {
    this.#hold(connection, -bytes);
    connection.unanswered--;
    connection.running--;
    if (socket.destroyed || connection.next === null) return;
    this.#startNext(connection);
    this.#feed.resume(socket);
    connection.readAgainMs = performance.now();
  }

  #closeLargest(): void {
    let largest: Socket | null = null;
    let mostBytes = 0;
    for (const [socket, { heldBytes }] of this.#connections) {
      if (heldBytes <= mostBytes) continue;
      largest = socket;
      mostBytes = heldBytes;
    }
    if (largest === null) return;
    this.#closed(largest);
    largest.destroy();
  }
}

/** A connection's first request counts only what exceeds an ordinary head. */
function heldBytesOf(req: IncomingMessage, isFirst: boolean): number {
  const bytes = headBytesOf(req);
  return isFirst ? Math.max(0, bytes - HEAD_MAX_BYTES) : REQUEST_BYTES + bytes;
}
