/**
 * Bounds what requests cost that a client sends on one connection before it has read the answers to
 * earlier ones (HTTP/1.1 pipelining).
 *
 * Promises: at most `RUNNING_MAX` requests of a connection are under way; the others wait in order,
 * and the connection is not read further until they have begun. Requests beyond the first of their
 * connection hold at most `HELD_MAX_BYTES` together: above that the connection that holds the most
 * is closed, as HTTP/1.1 allows at any time. A client that waits for each answer never waits here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HEAD_MAX_BYTES, headBytesOf } from './large-heads.ts';

/** Requests of one connection that are under way at a time. */
const RUNNING_MAX = 8;
/** Node reads up to 64 KiB at once, which may be 1,700 requests of one connection. */
const HELD_MAX_BYTES = 16 * 1024 * 1024;
/** What Node and the gateway keep of a request beside its head, as measured. */
const REQUEST_BYTES = 4 * 1024;

interface Connection {
  unanswered: number;
  running: number;
  heldBytes: number;
  waiting: (() => void)[];
}

export class PipelinedRequests {
  readonly #connections = new Map<Socket, Connection>();
  #heldBytes = 0;

  /** Calls `handle` now, or once earlier requests of the connection are answered. */
  came(req: IncomingMessage, res: ServerResponse, handle: () => void): void {
    const { socket } = req;
    // Node parses the rest of what it has read, also of a connection that was closed here.
    if (socket.destroyed) return;
    const connection = this.#connections.get(socket) ?? this.#opened(socket);
    const bytes = heldBytesOf(req, connection.unanswered === 0);
    connection.unanswered++;
    this.#hold(connection, bytes);
    res.once('close', () => {
      if (this.#connections.has(socket)) this.#answered(socket, connection, bytes);
    });
    connection.waiting.push(handle);
    this.#beginWaiting(connection);
    if (this.#heldBytes > HELD_MAX_BYTES) this.#closeOne(socket);
  }

  #opened(socket: Socket): Connection {
    const connection: Connection = { unanswered: 0, running: 0, heldBytes: 0, waiting: [] };
    this.#connections.set(socket, connection);
    // Node resumes the connection after each request that it has parsed.
    socket.on('resume', () => {
      if (connection.waiting.length > 0) socket.pause();
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
  }

  #hold(connection: Connection, bytes: number): void {
    connection.heldBytes += bytes;
    this.#heldBytes += bytes;
  }

  #beginWaiting(connection: Connection): void {
    while (connection.running < RUNNING_MAX && connection.waiting.length > 0) {
      connection.running++;
      connection.waiting.shift()!();
    }
  }

  #answered(socket: Socket, connection: Connection, bytes: number): void {
    this.#hold(connection, -bytes);
    connection.unanswered--;
    connection.running--;
    if (socket.destroyed || connection.waiting.length === 0) return;
    this.#beginWaiting(connection);
    if (connection.waiting.length === 0) socket.resume();
  }

  #closeOne(current: Socket): void {
    const mine = this.#connections.get(current)?.heldBytes ?? 0;
    let largest: Socket = current;
    let mostBytes = 2 * mine;
    for (const [socket, { heldBytes }] of this.#connections) {
      if (heldBytes <= mostBytes) continue;
      largest = socket;
      mostBytes = heldBytes;
    }
    this.#closed(largest);
    largest.destroy();
  }
}

/** A first request counts only with what its head exceeds an ordinary one by. */
function heldBytesOf(req: IncomingMessage, isFirst: boolean): number {
  const bytes = headBytesOf(req);
  return isFirst ? Math.max(0, bytes - HEAD_MAX_BYTES) : REQUEST_BYTES + bytes;
}
