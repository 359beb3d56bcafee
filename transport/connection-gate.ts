/**
 * Limits TCP connections on which no member has authenticated yet.
 *
 * Without the installation's secret a client can hold at most `strangersMax` connections with one
 * unfinished packet each, none for longer than `strangerMaxMs`. A member's connection is never
 * closed in favour of another. A packet longer than any member's is rejected when its header
 * arrives.
 */

import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { firstOf } from '../lib/checked-access.ts';
import { RepeatedLines } from '../process/repeated-lines.ts';

/** Header of Moleculer's packets: a check byte, the total length, the type. */
export const TCP_HEADER_BYTES = 6;
const LENGTH_END = 5;

interface ConnectionGateOptions {
  log: Logger;
  /** Size of the longest packet that a member sends, including its header. */
  packetMaxBytes: number;
  strangersMax: number;
  strangerMaxMs: number;
}

export class ConnectionGate {
  readonly #options: ConnectionGateOptions;
  /** Oldest first. */
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();
  readonly #repeated = new RepeatedLines();

  constructor(options: ConnectionGateOptions) {
    this.#options = options;
  }

  /** Watches a new connection. Must be called before anything else reads from it. */
  watch(socket: Socket): void {
    const { packetMaxBytes, strangersMax, strangerMaxMs } = this.#options;
    const take = packetLengths(packetMaxBytes);
    socket.on('data', (chunk: Buffer) => {
      if (!take(chunk)) this.#close(socket, 'too long a packet');
    });
    socket.once('close', () => this.markAuthenticated(socket));
    // Data that arrived while this process was blocked is read first.
    const late = (): void => void setImmediate(() => this.#waiting.has(socket) && this.#close(socket, 'too late'));
    this.#waiting.set(socket, setTimeout(late, strangerMaxMs).unref());
    if (this.#waiting.size > strangersMax) this.#close(firstOf(this.#waiting.keys()), 'too many');
  }

  /** Marks a connection as authenticated by a member. */
  markAuthenticated(socket: Socket): void {
    clearTimeout(this.#waiting.get(socket));
    this.#waiting.delete(socket);
  }

  close(): void {
    this.#repeated.close();
  }

  #close(socket: Socket, reason: string): void {
    this.markAuthenticated(socket);
    socket.destroy();
    this.#repeated.write(reason, (fields) =>
      this.#options.log.warn({ reason, ...fields }, 'a connection was closed on which no member of this cluster spoke'),
    );
  }
}

/**
 * Returns a function that follows the packets in a stream, chunk by chunk, by their length fields.
 * It returns false, for the last time, when a packet with an invalid length begins.
 */
function packetLengths(maxBytes: number): (chunk: Buffer) => boolean {
  const header = Buffer.alloc(LENGTH_END);
  let headerBytes = 0;
  /** Bytes left of the current packet. */
  let bytesLeft = 0;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      const skipped = Math.min(bytesLeft, chunk.length - at);
      bytesLeft -= skipped;
      at += skipped;
      if (at === chunk.length) break;
      header[headerBytes++] = chunk[at++]!;
      if (headerBytes < LENGTH_END) continue;
      const length = header.readInt32BE(1);
      if (length < TCP_HEADER_BYTES || length > maxBytes) return false;
      headerBytes = 0;
      bytesLeft = length - LENGTH_END;
    }
    return true;
  };
}
