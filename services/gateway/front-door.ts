/**
 * The gateway's server from the moment the process starts. Until the gateway takes over, requests
 * get 503 with Retry-After, `/livez` answers, and `/readyz` says that services are starting.
 *
 * Imports very little, so that the process can listen before the rest is loaded.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { unavailable } from '../../lib/errors.ts';
import { INTERNAL_LIMITS } from '../../lib/limits.ts';
import { SYSTEM_CLOCK } from '../../lib/time/clock.ts';
import { jsonAnswer, livezPage, type WebPage } from '../../mixins/health/health-pages.ts';
import { type Config, schemeOf } from '../../process/config.ts';
import { DIALECTS } from './dialects.ts';
import { hasAmbiguousFraming } from './head-checks.ts';
import { type HttpHandler, HttpServer, type HttpTimeouts } from './http-server.ts';
import { RequestContext } from './request-context.ts';
import { Responder } from './responder.ts';
import { MINIMUM_PACE } from './responses/reading-pace.ts';
import { Sender } from './responses/sender.ts';
import { TlsCertificate } from './tls-certificate.ts';

const TIMEOUTS: HttpTimeouts = {
  headerMs: INTERNAL_LIMITS.requestHeaderTimeoutMs,
  requestMs: INTERNAL_LIMITS.requestHeaderTimeoutMs + INTERNAL_LIMITS.requestBodyTimeoutMs,
};
/** Names of this machine, by which a browser on it may open the service's pages. */
const LOOPBACK_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];
const WILDCARDS = ['0.0.0.0', '::'];
const STARTING = unavailable('Provec is starting; send the request again.');

export class FrontDoor {
  /** Sends every response of the process, before and after the gateway takes over. */
  readonly sender: Sender;
  readonly responder: Responder;
  readonly #config: Config;
  readonly #server: HttpServer;
  readonly #pages: ReadonlyMap<string, WebPage>;
  #port: number;

  /** Throws ConfigError if the certificate cannot be used. */
  constructor(config: Config, log: Logger, timeouts = TIMEOUTS, minimumPace = MINIMUM_PACE) {
    this.#config = config;
    this.#port = config.port;
    this.sender = new Sender(minimumPace);
    this.responder = new Responder(config, log, this.sender);
    this.#server = new HttpServer(timeouts, (...request) => this.#refuse(...request), certificateOf(config, log));
    this.#pages = new Map<string, WebPage>([
      ['/livez', livezPage],
      ['/readyz', () => jsonAnswer(503, { status: this.isDraining ? 'stopping' : 'starting' })],
    ]);
  }

  get isDraining(): boolean {
    return this.#server.draining;
  }

  /** Starts listening and returns the address. Rejects with a sentence for the operator. */
  async listen(): Promise<{ port: number; host: string }> {
    const address = await this.#server.listen(this.#config.port, this.#config.host);
    this.#port = address.port;
    return address;
  }

  /** Returns the origins of the service's own pages, as browsers on this machine send them. */
  ownOrigins(): string[] {
    const { host } = this.#config;
    const named = WILDCARDS.includes(host) ? [] : [host.includes(':') ? `[${host}]` : host];
    const scheme = schemeOf(this.#config);
    const origins = [...LOOPBACK_HOSTS, ...named].map((name) => new URL(`${scheme}://${name}:${this.#port}`).origin);
    return [...new Set(origins)];
  }

  /** Passes all later requests to `handler`. */
  open(handler: HttpHandler): void {
    this.#server.setHandler(handler);
  }

  /** Closes the server like `HttpServer.close`. To be called again only after that has ended. */
  close(maxMs: number): Promise<void> {
    return this.#server.close(maxMs);
  }

  #refuse(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean, waitedMs: number): void {
    if (hasAmbiguousFraming(req)) {
      req.socket.destroy();
      return;
    }
    res.on('error', () => {});
    const request = new RequestContext(req, res, SYSTEM_CLOCK.monotonicMs() - waitedMs, awaitsContinue, {
      config: this.#config,
      dialects: DIALECTS,
    });
    const page = this.#pages.get(request.path);
    if (page === undefined) this.responder.fail(request, STARTING);
    else void this.responder.page(request, page);
  }
}

function certificateOf({ tlsCert: cert, tlsKey: key }: Config, log: Logger): TlsCertificate | null {
  return cert === null || key === null ? null : new TlsCertificate({ cert, key }, log);
}
