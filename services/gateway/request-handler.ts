import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { notFound, ProvecError } from '../../lib/errors.ts';
import type { WebPage } from '../../mixins/health/health-pages.ts';
import { observeRequest } from './access-log.ts';
import { applyCors } from './cors.ts';
import type { Dialect } from './dialect.ts';
import { hasAmbiguousFraming, headRefusal, UNSUPPORTED_TRANSFER_CODING } from './head-checks.ts';
import { headTooLarge } from './large-heads.ts';
import { runPipeline } from './pipeline.ts';
import { RequestContext } from './request-context.ts';
import type { Route } from './route.ts';
import { Router } from './router.ts';
import type { StepParts } from './steps/step.ts';
import type { FindPage } from './web-pages.ts';

const PAGE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

interface RequestHandlerParts extends StepParts {
  log: Logger;
  findPage: FindPage;
  routes: readonly Route[];
  dialects: readonly Dialect[];
}

/**
 * First handler of every request: reads the head, answers pages, OPTIONS and CORS itself, and
 * passes the rest to the router, whose routes run through the pipeline.
 */
export class RequestHandler {
  readonly router: Router;
  readonly #parts: RequestHandlerParts;
  /** Connections whose bytes another HTTP parser might split into different requests. */
  readonly #unclear = new WeakSet<Socket>();

  constructor(parts: RequestHandlerParts) {
    this.#parts = parts;
    this.router = new Router(parts.routes, (request) => void runPipeline(request, parts));
  }

  handle(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean, waitedMs: number): void {
    // The connection closes after the response to the earlier request.
    if (this.#unclear.has(req.socket)) return;
    const { clock, config, findPage, log, metrics, responder } = this.#parts;
    const request = new RequestContext(req, res, clock.monotonicMs() - waitedMs, awaitsContinue, this.#parts);
    res.on('error', () => {});
    observeRequest(request, log, metrics, clock);
    const found = findPage(request.path);
    if (found !== null) request.pattern = found.pattern;
    // The router looks these up only for OPTIONS, since only OPTIONS uses them.
    const methods =
      found !== null ? PAGE_METHODS : req.method === 'OPTIONS' ? this.router.methodsOf(request.path) : null;
    applyCors(config.corsOrigins, request, methods);
    const refusal = this.#refusalOf(request);
    if (refusal !== null) responder.fail(request, refusal);
    else if (req.method === 'OPTIONS') this.#options(request, methods);
    else void this.#route(request, found?.page ?? null);
  }

  #refusalOf({ req, res, dialect }: RequestContext): ProvecError | null {
    const large = headTooLarge(req, dialect.hasLongPaths);
    if (large === null && !hasAmbiguousFraming(req)) return headRefusal(req);
    this.#unclear.add(req.socket);
    res.shouldKeepAlive = false;
    return large ?? UNSUPPORTED_TRANSFER_CODING;
  }

  #options(request: RequestContext, methods: string[] | null): void {
    if (methods === null) this.#parts.responder.fail(request, notFound('ROUTE_NOT_FOUND'));
    else this.#parts.responder.allow(request, methods);
  }

  /** Answers a request for a page, or passes it on to its route. Never rejects. */
  async #route(request: RequestContext, page: WebPage | null): Promise<void> {
    const { method, req } = request;
    const { responder } = this.#parts;
    if (method === 'HEAD') req.method = 'GET';
    try {
      if (isShortenedDelete(request)) throw SHORTENED_DELETE;
      if (page === null) {
        if (!(await this.router.route(request))) throw this.#unrouted(request);
      } else if (req.method === 'GET') await responder.page(request, page);
      else throw methodNotAllowed(method, PAGE_METHODS);
    } catch (error) {
      responder.fail(request, error);
    }
  }

  /** Returns the error for a path, or a method of a path, that no route has. */
  #unrouted({ method, path, dialect }: RequestContext): ProvecError {
    const methods = this.router.methodsOf(path);
    const refusal = methods === null ? notFound('ROUTE_NOT_FOUND') : methodNotAllowed(method, methods);
    return dialect.whyUnrouted(path) ?? refusal;
  }
}

/**
 * A client that resolves dot segments turns `/collections/c/namespaces/..` into `/collections/c/`.
 * That request must not delete the collection.
 */
const isShortenedDelete = ({ method, path }: RequestContext): boolean => method === 'DELETE' && path.endsWith('/');
const SHORTENED_DELETE = new ProvecError(
  'ROUTE_NOT_FOUND',
  'The path of a DELETE must not end in a slash. Clients shorten paths that contain "." or "..": to delete the records of such a namespace, send POST /delete with {"all": true}.',
);

const methodNotAllowed = (method: string, allow: string[]) =>
  new ProvecError('METHOD_NOT_ALLOWED', `This path does not support ${method}; it supports ${allow.join(', ')}.`, {
    allow,
  });
