/**
 * Requests with large heads. Pinecone's clients fetch 1,000 vectors by a path of 41 kB, so Node
 * reads heads of up to 1 MiB; it knows one bound for all. Two more are kept here: only paths below
 * `/pinecone` may be long (`headTooLarge`), and the large heads that are being read, when nobody
 * knows yet whose they are, take only so much together (`LargeHeads`).
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { ProvecError } from '../../lib/errors.ts';

/** Of the head of a request; below a surface with long paths, of its headers. */
export const HEAD_MAX_BYTES = 16 * 1024;
export const LONG_HEAD_MAX_BYTES = 1024 * 1024;
/** As many as fit into `HEAD_MAX_BYTES`: from here on Node drops headers that its parser obeys. */
export const HEADERS_MAX = HEAD_MAX_BYTES / 4;
/** Of heads that are being read and are large already, all together. */
const BEING_READ_MAX_BYTES = 32 * LONG_HEAD_MAX_BYTES;
const LOOKED_AT_EVERY_MS = 100;

/** Null where the head is within its bound. */
export function headTooLarge(req: IncomingMessage, hasLongPaths: boolean): ProvecError | null {
  const bytes = headBytesOf(req) - (hasLongPaths ? urlBytesOf(req) : 0);
  return bytes <= HEAD_MAX_BYTES && req.rawHeaders.length < 2 * HEADERS_MAX ? null : tooLarge();
}

/** Size of a request's path and headers. */
export function headBytesOf(req: IncomingMessage): number {
  let bytes = urlBytesOf(req);
  // With `: ` and the end of the line.
  for (const part of req.rawHeaders) bytes += part.length + 2;
  return bytes;
}

const urlBytesOf = ({ url = '' }: IncomingMessage): number => url.length;

export const tooLarge = (): ProvecError =>
  new ProvecError('INVALID_ARGUMENT', `The request's headers are larger than ${HEAD_MAX_BYTES} bytes.`);

/** Watches how much of large heads is being read, and gives up the largest where it is too much. */
export class LargeHeads {
  /** How much each connection had sent when its last request had come; null while one comes. */
  readonly #before = new Map<Socket, number | null>();
  readonly #refuse: (socket: Socket) => void;
  readonly #timer: NodeJS.Timeout;

  /** `refuse` ends a connection whose head there is no room for. */
  constructor(refuse: (socket: Socket) => void) {
    this.#refuse = refuse;
    this.#timer = setInterval(() => this.#look(), LOOKED_AT_EVERY_MS);
    this.#timer.unref();
  }

  connected(socket: Socket): void {
    this.#before.set(socket, 0);
    socket.once('close', () => this.#before.delete(socket));
  }

  /** A head has come; what follows it up to the request's end is a body. */
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
