/**
 * Limits on large request heads. Pinecone's clients fetch 1,000 vectors with a path of 41 kB, so
 * Node's single limit is set to 1 MiB. This file adds two: only paths below `/pinecone` may be long
 * (`headTooLarge`), and all large heads that are still arriving, and so have no known account,
 * share a memory limit (`LargeHeads`).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ProvecError } from '../../lib/errors.ts';

/** Maximum size of a request head. In a dialect with long paths, maximum size of its headers. */
export const HEAD_MAX_BYTES = 16 * 1024;
export const LONG_HEAD_MAX_BYTES = 1024 * 1024;
/**
 * Number of headers that fit into `HEAD_MAX_BYTES`. Above it, Node drops headers that its parser
 * has already obeyed.
 */
export const HEADERS_MAX = HEAD_MAX_BYTES / 4;
/** Maximum total size of large heads that are still arriving. */
const BEING_READ_MAX_BYTES = 32 * LONG_HEAD_MAX_BYTES;
const LOOKED_AT_EVERY_MS = 100;

/** Returns the error for a head over its limit, or null. */
export function headTooLarge(req: IncomingMessage, hasLongPaths: boolean): ProvecError | null {
  const bytes = headBytesOf(req) - (hasLongPaths ? urlBytesOf(req) : 0);
  return bytes <= HEAD_MAX_BYTES && req.rawHeaders.length < 2 * HEADERS_MAX ? null : tooLarge();
}

/** Returns the size of a request's path and headers, in bytes. */
export function headBytesOf(req: IncomingMessage): number {
  let bytes = urlBytesOf(req);
  // Includes `: ` or the line end.
  for (const part of req.rawHeaders) bytes += part.length + 2;
  return bytes;
}

const urlBytesOf = ({ url = '' }: IncomingMessage): number => url.length;

export const tooLarge = (): ProvecError =>
  new ProvecError('INVALID_ARGUMENT', `The request's headers are larger than ${HEAD_MAX_BYTES} bytes.`);

/**
 * Tracks the size of large heads that are still arriving, and refuses the largest while the total
 * is over the limit.
 */
export class LargeHeads {
  /** Bytes received on a connection up to its last request; null while a body arrives. */
  readonly #before = new Map<Socket, number | null>();
  readonly #refuse: (socket: Socket) => void;
  readonly #timer: NodeJS.Timeout;

  /** `refuse` ends a connection whose head does not fit. */
  constructor(refuse: (socket: Socket) => void) {
    this.#refuse = refuse;
    this.#timer = setInterval(() => this.#look(), LOOKED_AT_EVERY_MS);
    this.#timer.unref();
  }

  connected(socket: Socket): void {
    this.#before.set(socket, 0);
    socket.once('close', () => this.#before.delete(socket));
  }

  /** Records that a head has arrived; the bytes up to the end of the request are its body. */
  began(req: IncomingMessage, hasBody: boolean): void {
    const { socket } = req;
    this.#before.set(socket, hasBody ? null : socket.bytesRead);
    if (!hasBody) return;
    req.once('close', () => {
      if (this.#before.has(socket)) this.#before.set(socket, socket.bytesRead);
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const large: { socket: Socket; bytes: number }[] = [];
    for (const [socket, before] of this.#before) {
      const bytes = before === null ? 0 : socket.bytesRead - before;
      if (bytes > HEAD_MAX_BYTES) large.push({ socket, bytes });
    }
    let total = large.reduce((sum, { bytes }) => sum + bytes, 0);
    if (total <= BEING_READ_MAX_BYTES) return;
    large.sort((one, other) => other.bytes - one.bytes);
    for (const { socket, bytes } of large) {
      if (total <= BEING_READ_MAX_BYTES) return;
      total -= bytes;
      this.#refuse(socket);
    }
  }
}
