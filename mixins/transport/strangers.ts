/**
 * The connections that others have made to a node over TCP, of whom nobody knows yet that they are
 * members.
 *
 * Promises: whoever has not the installation's secret holds no more of a node than `strangersMax`
 * connections with one unfinished packet each, and none for longer than `strangerMaxMs`; a
 * connection over which a member has shown itself is never closed for a stranger's. A packet that
 * is longer than any of a member is refused when its header is there, before what it holds.
 */
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { RepeatedLines } from '../repeated-lines.ts';

/** Of Moleculer's packets: a check byte, the length of all of it, the type. */
export const TCP_HEADER_BYTES = 6;
const LENGTH_END = 5;

interface StrangersOptions {
  log: Logger;
  /** Of the longest packet that a member sends, its header included. */
  packetMaxBytes: number;
  strangersMax: number;
  strangerMaxMs: number;
}

export class Strangers {
  readonly #options: StrangersOptions;
  /** The oldest first. */
  readonly #waiting = new Map<Socket, NodeJS.Timeout>();
  readonly #repeated = new RepeatedLines();

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  /** A connection that was just made; before anybody else reads it. */
  watch(socket: Socket): void {
    const { packetMaxBytes, strangersMax, strangerMaxMs } = this.#options;
    const take = packetLengths(packetMaxBytes);
    socket.on('data', (chunk: Buffer) => {
      if (!take(chunk)) this.#close(socket, 'too long a packet');
    });
    socket.once('close', () => this.shown(socket));
    // What came while this process stood still is read first.
    const late = (): void => void setImmediate(() => this.#waiting.has(socket) && this.#close(socket, 'too late'));
    this.#waiting.set(socket, setTimeout(late, strangerMaxMs).unref());
    if (this.#waiting.size > strangersMax) this.#close(this.#waiting.keys().next().value!, 'too many');
  }

  /** A member has shown itself over this connection. */
  shown(socket: Socket): void {
    clearTimeout(this.#waiting.get(socket));
    this.#waiting.delete(socket);
  }

  close(): void {
    this.#repeated.close();
  }

  #close(socket: Socket, reason: string): void {
    this.shown(socket);
    socket.destroy();
    this.#repeated.write(reason, (fields) =>
      this.#options.log.warn({ reason, ...fields }, 'a connection was closed on which no member of this cluster spoke'),
    );
  }
}

/**
 * Takes a stream chunk by chunk, and tells where packets begin in it by how long they say that they
 * are: false where one begins that no member sends; nothing may be taken after it.
 */
function packetLengths(maxBytes: number): (chunk: Buffer) => boolean {
  const header = Buffer.alloc(LENGTH_END);
  let headerBytes = 0;
  /** Of the packet that has begun. */
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
