/**
 * The node:http server: timeouts for slow senders, responses to bytes that are not HTTP, and a
 * shutdown that lets requests in flight finish. Closes every connection that cannot be reused.
 */
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { ProvecError, unavailable } from '../../lib/errors.ts';
import type { ErrorBody } from './error-response.ts';
import { HEADERS_MAX, LargeHeads, LONG_HEAD_MAX_BYTES, tooLarge } from './large-heads.ts';
import { NamedHeadersRequest } from './named-headers.ts';
import { PipelinedRequests } from './pipelined-requests.ts';
import { requestIdOf } from './request-context.ts';
import type { TlsCertificate } from './tls-certificate.ts';

const KEEP_ALIVE_MS = 65_000;
const CONNECTIONS_MAX = 16_384;
/** A connection with TLS takes 64 KiB, three times as much as one without. */
const TLS_CONNECTIONS_MAX = 4_096;
const CHECKS_PER_TIMEOUT = 10;
const PROBED_EVERY_MS = 500;

export interface HttpTimeouts {
  /** Timeout for the whole request head. */
  headerMs: number;
  /** Timeout for the whole request, head and body. */
  requestMs: number;
}

/** Requests without a body timeout. Their reader enforces a minimum rate instead. */
const withoutBodyTimeout = new WeakSet<IncomingMessage>();
export const exemptFromBodyTimeout = (req: IncomingMessage): void => void withoutBodyTimeout.add(req);

/** `waitedMs`: time in ms since the request's head was read. */
export type HttpHandler = (
  req: IncomingMessage,
  res: ServerResponse,
  awaitsContinue: boolean,
  waitedMs: number,
) => void;

export class HttpServer {
  readonly #server: Server | HttpsServer;
  readonly #certificate: TlsCertificate | null;
  /** Connections that the HTTP parser reads: with TLS, those whose handshake is done. */
  readonly #connected = new WeakSet<Socket>();
  readonly #inFlight = new Set<ServerResponse>();
  /** Connections that close after a response in flight: their later requests do not run. */
  readonly #ending = new WeakSet<Socket>();
  readonly #pipelined = new PipelinedRequests();
  readonly #largeHeads = new LargeHeads((socket) => this.#refuse(HEADS_FULL, socket));
  readonly #prober = setInterval(() => this.#probe(), PROBED_EVERY_MS).unref();
  #handler: HttpHandler;
  #draining = false;
  #idle: (() => void) | null = null;

  /** Serves HTTPS with a certificate, otherwise plain HTTP. */
  constructor(timeouts: HttpTimeouts, handler: HttpHandler, certificate: TlsCertificate | null = null) {
    this.#handler = handler;
    this.#certificate = certificate;
    const accept = (awaitsContinue: boolean) => (req: NamedHeadersRequest, res: ServerResponse) => {
      if (req.hasLongName) {
        this.#refuseHead(req.socket);
        return;
      }
      this.#largeHeads.began(req, hasBody(req));
      if (this.#ending.has(req.socket)) return;
      const arrivedMs = performance.now();
      this.#inFlight.add(res);
      res.once('close', () => this.#left(res));
      if (this.#draining) this.#endAfter(res);
      this.#pipelined.add(req, res, () => {
        this.#timeBody(req, res, timeouts.requestMs - timeouts.headerMs);
        this.#handler(req, res, awaitsContinue, performance.now() - arrivedMs);
      });
    };
    this.#server = serverOf(timeouts, accept(false), certificate);
    this.#server.maxHeadersCount = HEADERS_MAX;
    this.#server.maxConnections = certificate === null ? CONNECTIONS_MAX : TLS_CONNECTIONS_MAX;
    // Undocumented in Node: keeps a connection open until its responses are sent, after the client
    // has half-closed it.
    Object.assign(this.#server, { httpAllowHalfOpen: true });
    this.#server.on(certificate === null ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.#connected.add(socket);
      this.#largeHeads.connected(socket);
      this.#pipelined.connected(socket);
    });
    this.#server.on('checkContinue', accept(true));
    this.#server.on('checkExpectation', accept(true));
    this.#server.on('connect', (req: IncomingMessage, socket: Socket) => this.#refuseTunnel(req, socket));
    this.#server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
      if (!this.#connected.has(socket)) {
        socket.destroy();
        return;
      }
      const refuse = () => this.#refuse(error, socket);
      if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') refuse();
      else this.#pipelined.headLate(socket, timeouts.headerMs, refuse);
    });
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Passes all later requests to another handler. */
  setHandler(handler: HttpHandler): void {
    this.#handler = handler;
  }

  /**
   * Starts listening unless it already does, and returns the address. Rejects with a sentence that
   * names the address if it cannot be bound.
   */
  async listen(port: number, host: string): Promise<{ port: number; host: string }> {
    if (!this.#server.listening) {
      await new Promise<void>((resolve, reject) => {
        const fail = (error: NodeJS.ErrnoException) => reject(cannotListen(error, port, host));
        this.#server.once('error', fail);
        this.#server.listen(port, host, () => {
          this.#server.off('error', fail);
          resolve();
        });
      });
    }
    const address = this.#server.address() as AddressInfo;
    return { port: address.port, host: address.address };
  }

  /** Stops accepting, waits up to `maxMs` for running requests, then closes every connection. */
  async close(maxMs: number): Promise<void> {
    this.#draining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const lastResponses = new Map([...this.#inFlight].map((res) => [res.req.socket, res]));
    for (const res of lastResponses.values()) this.#endAfter(res);
    this.#server.closeIdleConnections();
    if (this.#inFlight.size > 0) {
      const done = Promise.withResolvers<void>();
      this.#idle = done.resolve;
      const timer = setTimeout(done.resolve, maxMs);
      await done.promise;
      clearTimeout(timer);
    }
    this.#server.closeAllConnections();
    this.#largeHeads.close();
    this.#certificate?.close();
    clearInterval(this.#prober);
    await closed;
  }

  /**
   * Closes the connection after the responses to its requests that arrived in full or whose
   * response has begun. Returns false if there are none.
   */
  #endsAfterAnswers(socket: Socket): boolean {
    let last: ServerResponse | null = null;
    for (const res of this.#inFlight)
      if (res.req.socket === socket && (res.req.complete || res.headersSent)) last = res;
    if (last === null) return false;
    this.#endAfter(last);
    return true;
  }

  /** Closes a response's connection once it is sent. Node drops the responses after it. */
  #endAfter(last: ServerResponse): void {
    const { socket } = last.req;
    this.#ending.add(socket);
    if (!last.headersSent) last.shouldKeepAlive = false;
    last.once('close', () => socket.destroySoon());
  }

  /**
   * Detects clients that are gone on connections where reading does not reveal it, because they are
   * half-closed or held. A vanished client resets the connection, and the next write fails.
   * HTTP/1.1 clients ignore interim responses, but undici takes an unexpected 100 as an error. In a
   * response that has begun, white space between two pieces of JSON serves the same purpose.
   */
  #probe(): void {
    for (const res of this.#inFlight) {
      const { socket } = res;
      if (socket === null || res.req.httpVersion !== '1.1' || socket.writableLength > 0) continue;
      if (!socket.readableEnded && !this.#pipelined.isHeld(socket)) continue;
      if (!res.headersSent) res.writeProcessing();
      else if (isStreamedJson(res)) res.write(' ');
    }
  }

  /** Refuses a request whose body has not arrived `maxMs` after its head. */
  #timeBody(req: IncomingMessage, res: ServerResponse, maxMs: number): void {
    if (!hasBody(req)) return;
    const timer = setTimeout(() => {
      if (!req.complete && !withoutBodyTimeout.has(req)) this.#refuse(BODY_LATE, req.socket);
    }, maxMs);
    timer.unref();
    // If the response ends before the body has arrived in full, the timeout applies to the rest.
    res.once('close', () => {
      if (req.complete) clearTimeout(timer);
    });
  }

  #left(res: ServerResponse): void {
    this.#inFlight.delete(res);
    if (this.#inFlight.size === 0) this.#idle?.();
  }

  /** Refuses a head whose headers Node did not read, nor thereby where its body ends. */
  #refuseHead(socket: Socket): void {
    this.#pipelined.stop(socket);
    this.#refuse(HEAD_LARGE, socket);
  }

  #refuseTunnel(req: IncomingMessage, socket: Socket): void {
    this.#pipelined.stop(socket);
    if (!this.#endsAfterAnswers(socket)) end(socket, NO_PROXY, requestIdOf(req));
  }

  /**
   * Answers bytes that are not a request. If an earlier request on the connection is still running,
   * the answer could be mistaken for its response, so the connection then closes after that
   * response instead.
   */
  #refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else if (!this.#endsAfterAnswers(socket)) end(socket, refusalOf(error), randomUUID());
  }
}

function serverOf(
  { headerMs }: HttpTimeouts,
  accept: (req: NamedHeadersRequest, res: ServerResponse<NamedHeadersRequest>) => void,
  certificate: TlsCertificate | null,
): Server | HttpsServer {
  const options: ServerOptions<typeof NamedHeadersRequest> = {
    IncomingMessage: NamedHeadersRequest,
    maxHeaderSize: LONG_HEAD_MAX_BYTES,
    headersTimeout: headerMs,
    // Body timeouts are enforced per request (`#timeBody`); streaming imports have none.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.max(50, Math.floor(headerMs / CHECKS_PER_TIMEOUT)),
    keepAliveTimeout: KEEP_ALIVE_MS,
    noDelay: true,
    // The request handler refuses these, with a body and a request id.
    requireHostHeader: false,
  };
  if (certificate === null) return createServer(options, accept);
  const server = createHttpsServer(
    { ...options, ...certificate.current, handshakeTimeout: headerMs, allowHalfOpen: true },
    accept,
  );
  certificate.watch((pair) => server.setSecureContext(pair));
  return server;
}

function cannotListen(error: NodeJS.ErrnoException, port: number, host: string): Error {
  const why =
    error.code === 'EADDRINUSE'
      ? 'another program listens there; set PROVEC_PORT to another port (0 = any free one)'
      : error.code === 'EACCES'
        ? 'this user may not use that port; set PROVEC_PORT to one above 1023'
        : error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND'
          ? 'this machine does not have that address; set PROVEC_HOST'
          : (error.code ?? error.message);
  return new Error(`Cannot listen on ${host}:${port}: ${why}.`, { cause: error });
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;

const HEADS_FULL: NodeJS.ErrnoException = Object.assign(new Error('Too much of large heads is being read.'), {
  code: 'PROVEC_HEADS_FULL',
});
const HEAD_LARGE: NodeJS.ErrnoException = Object.assign(new Error('The name of a header is too long.'), {
  code: 'HPE_HEADER_OVERFLOW',
});
const BODY_LATE: NodeJS.ErrnoException = Object.assign(new Error('The body came too late.'), {
  code: 'ERR_HTTP_REQUEST_TIMEOUT',
});

const NO_PROXY = new ProvecError('METHOD_NOT_ALLOWED', 'Provec does not support CONNECT: it is not a proxy.', {
  allow: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
});

function refusalOf(error: NodeJS.ErrnoException): ProvecError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ProvecError('REQUEST_TIMEOUT', 'The request did not arrive in time; send it again.');
  }
  if (error === HEADS_FULL)
    return unavailable('The service is receiving too many requests with long paths; send this one again later.');
  if (error.code === 'HPE_HEADER_OVERFLOW') return tooLarge();
  return new ProvecError('INVALID_ARGUMENT', 'The request is not valid HTTP/1.1.');
}

/** Ends a connection with a complete response written as text, where no `ServerResponse` exists. */
function end(socket: Socket, { allow, code, message, status }: ProvecError, requestId: string): void {
  socket.on('error', () => {});
  const body: ErrorBody = { error: message, code, status, requestId };
  const text = JSON.stringify(body);
  const response = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    ...(allow === undefined ? [] : [`Allow: ${allow.join(', ')}`]),
    'Connection: close',
    '',
    text,
  ].join('\r\n');
  socket.end(response, () => socket.destroy());
}

/** Whether the body is JSON that is sent in pieces, between which white space changes nothing. */
const isStreamedJson = (res: ServerResponse): boolean =>
  !res.writableEnded &&
  !res.hasHeader('Content-Length') &&
  String(res.getHeader('Content-Type')).startsWith('application/json');
