/**
 * The port for orchestrators and monitors: `/livez`, `/readyz`, `/metrics` and nothing else.
 *
 * It responds from before any other part of the process starts until every other part has stopped.
 * It keeps no connection open.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { jsonAnswer, type PlainAnswer, type WebPage } from './health-pages.ts';

const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 256;

/** By exact path. */
type HealthPages = ReadonlyMap<string, WebPage>;

export class HealthServer {
  readonly #pages: HealthPages;
  readonly #server: Server;

  constructor(pages: HealthPages) {
    this.#pages = pages;
    this.#server = createServer(
      { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
      (request, response) => void this.#answer(request, response),
    );
    this.#server.maxConnections = CONNECTIONS_MAX;
    // Bounds the cost of a client that sends more requests or does not read its response.
    this.#server.maxRequestsPerSocket = 1;
    this.#server.on('dropRequest', (_, socket) => socket.destroy());
    this.#server.timeout = REQUEST_TIMEOUT_MS;
  }

  /** Starts listening and returns the URL. Rejects with a message for the operator. */
  async listen(port: number, host: string): Promise<string> {
    this.#server.listen(port, host);
    try {
      await once(this.#server, 'listening');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      throw new Error(
        `cannot listen on ${host}:${port} (${code ?? message}); set PROVEC_HEALTH_PORT to another port.`,
        { cause: error },
      );
    }
    const bound = this.#server.address() as AddressInfo;
    const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
    return `http://${name}:${bound.port}`;
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer({ headers, method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ''] = url.split('?', 1);
    const { status, type, body } = await this.#pageFor(method, path, headers);
    response.writeHead(status, {
      'content-type': type,
      'cache-control': 'no-store',
      connection: 'close',
      ...(status === 405 ? { allow: 'GET, HEAD' } : {}),
    });
    response.end(method === 'HEAD' ? undefined : body);
  }

  async #pageFor(method: string | undefined, path: string, headers: IncomingHttpHeaders): Promise<PlainAnswer> {
    if (method !== 'GET' && method !== 'HEAD') return jsonAnswer(405, { error: 'Only GET and HEAD.' });
    const page = this.#pages.get(path);
    if (page === undefined) return jsonAnswer(404, { error: `There are only ${[...this.#pages.keys()].join(', ')}.` });
    try {
      return await page(headers);
    } catch {
      return jsonAnswer(500, { error: 'This page failed.' });
    }
  }
}
