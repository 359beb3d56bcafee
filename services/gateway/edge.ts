import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Config } from '../../lib/config.ts';
import { notFound, ProvecError } from '../../lib/errors.ts';
import type { Metrics } from '../../mixins/metrics.ts';
import { type RepeatedFields, RepeatedLines } from '../../mixins/repeated-lines.ts';
import { watch } from './access-log.ts';
import { ClientGoneError } from './client-gone.ts';
import { Cors } from './cors.ts';
import { errorResponse, toFailure } from './error-response.ts';
import { Exchange } from './exchange.ts';
import type { Operations, Page } from './operations.ts';
import type { Sender } from './responses/sender.ts';
import type { Pieces } from './responses/splice.ts';
import { decodablePath, type RouteTable } from './route-table.ts';
import type { Answer, Route } from './routes.ts';

const JSON_HEADERS = Object.freeze({
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
});
const PAGE_METHODS = ['GET', 'HEAD', 'OPTIONS'];

export interface EdgeParts {
  config: Pick<Config, 'corsOrigins' | 'pricingUrl' | 'statusUrl'>;
  log: Logger;
  metrics: Metrics;
  operations: Operations;
  table: RouteTable;
  sender: Sender;
  nowMs(): number;
  /** Finds the route and calls its action; answers through `Edge`. */
  router(req: IncomingMessage, res: ServerResponse): void;
}

/**
 * The first and the last to touch a request: request id, CORS, what is not routed; and every
 * answer.
 */
export class Edge {
  readonly #parts: EdgeParts;
  readonly #cors: Cors;
  readonly #repeated = new RepeatedLines();
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();
  /** Connections on which another reader of the same bytes might see other requests. */
  readonly #unclear = new WeakSet<Socket>();

  constructor(parts: EdgeParts) {
    this.#parts = parts;
    this.#cors = new Cors(parts.config.corsOrigins);
  }

  /** Writes the lines that were kept back; to be called when no request is left. */
  close(): void {
    this.#repeated.close();
  }

  /** The exchange of a request that came in through `handle`. */
  of(req: IncomingMessage): Exchange {
    const exchange = this.#exchanges.get(req);
    if (exchange === undefined) throw new Error('a request that did not come through the edge');
    return exchange;
  }

  handle(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    // It ends with the answer to what came before.
    if (this.#unclear.has(req.socket)) return;
    const { log, metrics, nowMs, operations, router, table } = this.#parts;
    const exchange = new Exchange(req, res, nowMs(), awaitsContinue);
    this.#exchanges.set(req, exchange);
    res.on('error', () => {});
    watch(exchange, log, metrics, nowMs);
    const page = operations.pageOf(exchange.path);
    if (page !== null) exchange.pattern = exchange.path;
    const methods =
      page === null && req.method !== 'OPTIONS' ? null : page === null ? table.methodsOf(exchange.path) : PAGE_METHODS;
    this.#cors.apply(exchange, methods);
    if (isFramedOtherwise(req)) {
      this.#unclear.add(req.socket);
      res.shouldKeepAlive = false;
      this.fail(req, OTHER_CODING);
      return;
    }
    const refusal = refusalOf(req);
    if (refusal !== null) {
      this.fail(req, refusal);
      return;
    }
    if (req.method === 'OPTIONS') {
      if (methods === null) this.fail(req, notFound('ROUTE_NOT_FOUND'));
      else this.#reply(exchange, 204, { Allow: methods.join(', ') }, '');
      return;
    }
    if (req.method === 'HEAD') req.method = 'GET';
    if (page !== null) {
      if (req.method === 'GET') void this.#page(exchange, page);
      else this.fail(req, methodNotAllowed(exchange.method, PAGE_METHODS));
      return;
    }
    // What the router sees has no query string (it is parsed later, strictly) and can be decoded.
    req.url = decodablePath(exchange.path);
    router(req, res);
  }

  /** No route has that path and method. */
  unrouted(req: IncomingMessage): void {
    const exchange = this.of(req);
    const methods = this.#parts.table.methodsOf(exchange.path);
    this.fail(req, methods === null ? notFound('ROUTE_NOT_FOUND') : methodNotAllowed(exchange.method, methods));
  }

  /**
   * Answers with what a route's action gave. Throws UNAVAILABLE when that takes more memory than
   * there is for answers.
   */
  succeed(req: IncomingMessage, route: Route, result: unknown): void {
    const exchange = this.of(req);
    exchange.hold?.resize(route.heldBytes(result));
    const location = route.location(result);
    const headers = location === null ? JSON_HEADERS : { ...JSON_HEADERS, Location: location };
    this.#reply(exchange, route.status, headers, contentOf(route.answer(result)));
  }

  /** Answers with an error, whatever was thrown. */
  fail(req: IncomingMessage, thrown: unknown): void {
    const exchange = this.of(req);
    exchange.ended();
    if (thrown instanceof ClientGoneError) {
      exchange.res.destroy();
      return;
    }
    const { error, isFault } = toFailure(thrown);
    if (isFault) this.#logFault(exchange, error, thrown);
    if (exchange.res.headersSent) {
      exchange.res.destroy();
      return;
    }
    const { body, headers, status } = errorResponse(error, exchange.id, this.#parts.config);
    this.#reply(exchange, status, { ...JSON_HEADERS, ...headers }, JSON.stringify(body));
  }

  async #page(exchange: Exchange, page: Page): Promise<void> {
    try {
      const { status, text, type, headers } = await page(exchange.req.headers.host ?? '');
      this.#reply(exchange, status, { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers }, text);
    } catch (error) {
      this.fail(exchange.req, error);
    }
  }

  #reply(
    exchange: Exchange,
    status: number,
    headers: Readonly<Record<string, string>>,
    content: string | Pieces,
  ): void {
    this.#parts.sender
      .send(exchange, status, headers, content)
      .catch((error: unknown) => this.fail(exchange.req, error))
      .finally(() => exchange.hold?.release());
  }

  /**
   * While a part is away every request fails of the same cause: one line a second says so, and of
   * how many.
   */
  #logFault(exchange: Exchange, { code }: ProvecError, thrown: unknown): void {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    const fields = { err: cause, requestId: exchange.id, route: exchange.pattern };
    const write = (repeated: RepeatedFields): void =>
      this.#parts.log.error({ ...fields, ...repeated }, 'request failed');
    if (code === 'UNAVAILABLE' && cause instanceof Error) this.#repeated.write(`${cause.name} ${cause.message}`, write);
    else write({});
  }
}

function contentOf(answer: Answer): string | Pieces {
  return typeof answer === 'function' ? (answer as Pieces) : JSON.stringify(answer);
}

const OTHER_CODING = new ProvecError(
  'INVALID_ARGUMENT',
  'Of Transfer-Encoding only chunked is taken; send the body as it is.',
);

/** Node's parser looks at the last coding alone. */
const isFramedOtherwise = ({ headers }: IncomingMessage): boolean =>
  (headers['transfer-encoding']?.trim().toLowerCase() ?? 'chunked') !== 'chunked';

/** Node takes the first; a proxy before the service may have looked at another. */
const ONCE = ['Host', 'Authorization'];

/** What is wrong with a request whatever it asks for. */
function refusalOf({ headers, headersDistinct, httpVersion }: IncomingMessage): ProvecError | null {
  const twice = ONCE.find((name) => (headersDistinct[name.toLowerCase()]?.length ?? 0) > 1);
  if (twice !== undefined) {
    return new ProvecError('INVALID_ARGUMENT', `The request has more than one ${twice} header; send one.`);
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    return new ProvecError('INVALID_ARGUMENT', 'The request has no Host header.');
  }
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== '100-continue') {
    return new ProvecError('INVALID_ARGUMENT', 'Of Expect only 100-continue is met; leave the header out.');
  }
  return null;
}

const methodNotAllowed = (method: string, allow: string[]) =>
  new ProvecError('METHOD_NOT_ALLOWED', `This path does not take ${method}; it takes ${allow.join(', ')}.`, { allow });
