import type { Logger } from 'pino';
import { toFailure } from '../../contracts/failure.ts';
import type { ProvecError } from '../../lib/errors.ts';
import type { WebPage } from '../../mixins/health/health-pages.ts';
import type { Config } from '../../process/config.ts';
import { type RepeatedFields, RepeatedLines } from '../../process/repeated-lines.ts';
import { ClientGoneError } from './client-gone.ts';
import type { RequestContext } from './request-context.ts';
import { type Head, JSON_HEADERS, type Sender } from './responses/sender.ts';

/** Sends errors, pages and OPTIONS responses, and logs the gateway's faults. */
export class Responder {
  readonly #config: Pick<Config, 'pricingUrl' | 'statusUrl'>;
  readonly #log: Logger;
  readonly #sender: Sender;
  readonly #repeated = new RepeatedLines();

  constructor(config: Pick<Config, 'pricingUrl' | 'statusUrl'>, log: Logger, sender: Sender) {
    this.#config = config;
    this.#log = log;
    this.#sender = sender;
  }

  /** Responds with an error for whatever was thrown, and releases what the request holds. */
  fail(request: RequestContext, thrown: unknown): void {
    request.release();
    if (thrown instanceof ClientGoneError) {
      request.res.destroy();
      return;
    }
    const error = this.report(request, thrown);
    request.failedWith = error.code;
    if (request.res.headersSent) {
      request.abort(error.code);
      return;
    }
    const { body, headers, status } = request.dialect.errorResponse(error, request.id, this.#config);
    this.#reply(request, { status, headers: { ...JSON_HEADERS, ...headers } }, Buffer.from(JSON.stringify(body)));
  }

  /** Returns the client's error for whatever was thrown, and logs a fault. */
  report(request: RequestContext, thrown: unknown): ProvecError {
    const { error, isFault } = toFailure(thrown);
    if (isFault) this.#logFault(request, error, thrown);
    return error;
  }

  /** Responds to an OPTIONS request. */
  allow(request: RequestContext, methods: readonly string[]): void {
    this.#reply(request, { status: 204, headers: { Allow: methods.join(', ') } }, Buffer.alloc(0));
  }

  async page(request: RequestContext, page: WebPage): Promise<void> {
    try {
      const { status, body, type, headers, sent } = await page(request.req.headers);
      const all = { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers };
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      await this.#sender.send(request, { status, headers: all }, bytes).finally(sent);
    } catch (error) {
      this.fail(request, error);
    }
  }

  /** Writes the suppressed log lines. To be called when no request is left. */
  close(): void {
    this.#repeated.close();
  }

  #reply(request: RequestContext, head: Head, body: Buffer): void {
    this.#sender.send(request, head, body).catch((error: unknown) => this.fail(request, error));
  }

  /**
   * Logs a fault. While a dependency is down, every request fails with the same cause, so one line
   * per second reports it with a count.
   */
  #logFault(request: RequestContext, { code }: ProvecError, thrown: unknown): void {
    const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
    const { id: requestId, pattern: route, collection } = request;
    const fields = { err: cause, requestId, route, ...(collection && { collectionId: collection.id }) };
    const write = (repeated: RepeatedFields): void => this.#log.error({ ...fields, ...repeated }, 'request failed');
    if (code === 'UNAVAILABLE' && cause instanceof Error) this.#repeated.write(`${cause.name} ${cause.message}`, write);
    else write({});
  }
}
