/**
 * Limits the cost of requests that a client sends on a connection before it has read earlier
 * responses (HTTP/1.1 pipelining).
 *
 * At most `RUNNING_MAX` requests of a connection run. The others wait in order, and the connection
 * is held until they have started: it is not read. Requests beyond the first of their connection
 * hold at most `HELD_MAX_BYTES` in total; above that, the connection that holds the most is closed,
 * as HTTP/1.1 allows at any time. A client that waits for each response never waits here.
 * See docs/internals/overload.md.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HEAD_MAX_BYTES, headBytesOf } from './large-heads.ts';

/** Maximum number of running requests per connection. */
const RUNNING_MAX = 8;
/**
 * Maximum memory of all pipelined requests. Node reads up to 64 KiB at once, which can be 1,700
 * requests of one connection.
 */
const HELD_MAX_BYTES = 16 * 1024 * 1024;
/** Measured memory that Node and the gateway use per request, in addition to its head. */
const REQUEST_BYTES = 4 * 1024;

interface Connection {
  unanswered: number;
  running: number;
  heldBytes: number;
  waiting: (() => void)[];
  /** When it was last no longer held, in monotonic milliseconds. */
  readAgainMs: number;
  /** Set while a head is late that could not arrive earlier. */
  headTimer: NodeJS.Timeout | undefined;
}

export class PipelinedRequests {
  readonly #connections = new Map<Socket, Connection>();
  #heldBytes = 0;

  /** Calls `handle` now, or once earlier requests on the connection have been answered. */
  add(req: IncomingMessage, res: ServerResponse, handle: () => void): void {
    const { socket } = req;
    // Node keeps parsing what it has read, even from a connection that was closed here.
    if (socket.destroyed) return;
    const connection = this.#connections.get(socket) ?? this.#opened(socket);
    const bytes = heldBytesOf(req, connection.unanswered === 0);
    connection.unanswered++;
    clearTimeout(connection.headTimer);
    this.#hold(connection, bytes);
    res.once('close', () => {
      if (this.#connections.has(socket)) this.#answered(socket, connection, bytes);
    });
    connection.waiting.push(handle);
    this.#beginWaiting(connection);
    if (connection.waiting.length > 0) socket.pause();
    if (this.#heldBytes > HELD_MAX_BYTES) this.#closeLargest();
  }

  /** Returns true if requests wait, so that the connection is not read. */
  isHeld(socket: Socket): boolean {
    return (this.#connections.get(socket)?.waiting.length ?? 0) > 0;
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

  #opened(socket: Socket): Connection {
    const connection: Connection = {
      unanswered: 0,
      running: 0,
      heldBytes: 0,
      waiting: [],
      readAgainMs: -Infinity,
      headTimer: undefined,
    };
    this.#connections.set(socket, connection);
    // Node resumes the connection after each request that it parses. It starts to read even if
    // the connection was paused since; pause() then does nothing, and only the event stops it.
    socket.on('resume', () => {
      if (connection.waiting.length === 0) return;
      socket.pause();
      socket.emit('pause');
    });
    socket.once('close', () => this.#closed(socket));
    return connection;
  }

  #closed(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    this.#connections.delete(socket);
    this.#heldBytes -= connection.heldBytes;
    connection.waiting = [];
    clearTimeout(connection.headTimer);
  }

  #hold(connection: Connection, bytes: number): void {
    connection.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  #beginWaiting(connection: Connection): void {
    while (connection.running < RUNNING_MAX && connection.waiting.length > 0) {
      connection.running++;
      connection.waiting.shift()?.();
    }
  }

  #answered(socket: Socket, connection: Connection, bytes: number): void {
    this.#hold(connection, -bytes);
    connection.unanswered--;
    connection.running--;
    if (socket.destroyed || connection.waiting.length === 0) return;
    this.#beginWaiting(connection);
    if (connection.waiting.length > 0) return;
    socket.resume();
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
